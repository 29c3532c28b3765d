// Runs before the first paint: a theme the reader chose must not flash in the other one.
(() => {
  let choice = "auto";
  try {
    choice = localStorage.getItem("corral-theme") ?? "auto";
  } catch {
    // storage may be closed to the page; the system's theme is right then
  }
  const dark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
