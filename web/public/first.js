// Runs while the page's own code is still on its way: says so if that does not arrive, has the code of the page that the
// address names fetched along with the frame's (vite.config.ts says which files these are), and asks for the first rows
// of the list of runs, whose answer api/client.ts takes.
(() => {
  const failed = ({ target }) => {
    if (!(target instanceof HTMLScriptElement) || target.type !== "module") return;
    const words = document.createElement("p");
    words.role = "alert";
    words.textContent =
      "The page could not be loaded: the server does not answer or was just updated. Reload the page.";
    document.getElementById("root")?.replaceChildren(words);
  };
  addEventListener("error", failed, true);
  const pages = JSON.parse(document.currentScript.dataset.pages ?? "{}");
  const { pathname, search } = location;
  const name = Object.keys(pages).find((one) =>
    one.endsWith("/") && one !== "/" ? pathname.startsWith(one) : pathname === one,
  );
  for (const file of pages[name] ?? []) {
    const link = document.createElement("link");
    link.rel = "modulepreload";
    link.href = file;
    document.head.append(link);
  }
  // Only the plain list: what the address or this browser's memory change is known to the page alone.
  if (pathname !== "/" || search !== "") return;
  try {
    if (localStorage.getItem("corral-columns") !== null) return;
  } catch {
    // then nothing is remembered
  }
  const path = "/runs/search";
  const body = JSON.stringify({ limit: 200, offset: 0 });
  const headers = { Accept: "application/json", "Content-Type": "application/json" };
  const answer = fetch(`/api/corral/v1${path}`, { method: "POST", headers, body });
  // Whoever takes it hears of a failure.
  answer.catch(() => {});
  window.corralFirst = { path, body, answer };
})();
