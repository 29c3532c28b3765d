// Runs before the first paint: a theme the reader chose must not flash in the other one.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem("corral-theme");
  } catch {
    // storage may be closed to the page; the system's theme is right then
  }
  const dark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.scheme = dark ? "dark" : "light";
})();
