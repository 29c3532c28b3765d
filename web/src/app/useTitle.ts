// The document title.
import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Corral`;
    return () => {
      document.title = "Corral";
    };
  }, [title]);
}
