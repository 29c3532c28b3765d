// Light or dark. The choice is kept; choosing the system's own setting means following it again.
import { useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { Moon, Sun } from "./icons";

export function ThemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light", { getInitialValueInEffect: false });
  const other = scheme === "dark" ? "light" : "dark";
  const toggle = () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    setColorScheme(other === system ? "auto" : other);
  };
  return (
    <button
      type="button"
      className="icon-button"
      data-testid="theme-toggle"
      aria-label={`Switch to ${other} colours`}
      title={`Switch to ${other} colours`}
      onClick={toggle}
    >
      {scheme === "dark" ? <Sun /> : <Moon />}
    </button>
  );
}
