// Light or dark.
import { chooseScheme, useScheme } from "../state/scheme";
import { Moon, Sun } from "./icons";

export function ThemeToggle() {
  const { scheme } = useScheme();
  const other = scheme === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      className="icon-button"
      data-testid="theme-toggle"
      aria-label={`Switch to ${other} colours`}
      title={`Switch to ${other} colours`}
      onClick={() => chooseScheme(other)}
    >
      {scheme === "dark" ? <Sun /> : <Moon />}
    </button>
  );
}
