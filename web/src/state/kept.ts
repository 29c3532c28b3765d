// Texts that this browser keeps, the same in all its tabs. Without storage, or if it is full or forbidden, they last as
// long as the page.
export function readKept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

// null: it is forgotten.
export function keep(key: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(key);
    else localStorage.setItem(key, text);
  } catch {
    // as above
  }
}

// Calls `changed` when another tab has written or forgotten it, until the returned function is called.
export function followKept(key: string, changed: (text: string | null) => void): () => void {
  const follow = (event: StorageEvent) => {
    if (event.key === key || event.key === null)
      changed(event.key === null ? null : event.newValue);
  };
  globalThis.addEventListener?.("storage", follow);
  return () => globalThis.removeEventListener?.("storage", follow);
}
