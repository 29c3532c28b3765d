// What the browser calls the page.
import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Corral`;
    return () => {
      document.title = "Corral";
    };
  }, [title]);
}
