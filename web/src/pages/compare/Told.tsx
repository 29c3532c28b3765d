// A sentence of the server with its verdict before it, which looks neutral where nothing was shown.
export interface ToldProps {
  verdict: string;
  shown: boolean;
  text: string;
}

export function Told({ verdict, shown, text }: ToldProps) {
  return (
    <p className="told">
      <span className={shown ? "verdict shown" : "verdict"} data-testid="told-verdict">
        {verdict}
      </span>
      <span data-testid="told-text">{text}</span>
    </p>
  );
}
