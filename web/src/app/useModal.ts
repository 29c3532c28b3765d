// A dialog that is open, above the page, from its first rendering on: for the `ref` of a `<dialog>`.
import { useEffect, useRef } from "react";

export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return dialog;
}
