// The only place that talks HTTP. Every failure becomes an ApiError whose message is a sentence about the failure;
// `advice` names the next step.

const kBase = "/api/corral/v1";

let signedOut = () => {};

// `call`: the server asked for a token, or for another one.
export function whenSignedOut(call: () => void): void {
  signedOut = call;
}

export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly advice: string,
  ) {
    super(message);
    this.name = "ApiError";
  }

  // No answer at all: the server is gone or cannot be reached.
  get offline(): boolean {
    return this.status === 0;
  }
}

const kAdvice: Record<number, string> = {
  400: "Correct what the message names, and try again.",
  401: "Sign in. A server with one token for all takes it as ?token=TOKEN in the address.",
  403: "If the message names a role, ask an admin for it; if a host, open the page under 127.0.0.1.",
  404: "It may have been deleted, or the address is mistyped. See the list of runs.",
  503: "The server is busy or starting; the page retries automatically.",
};

async function failure(response: Response): Promise<ApiError> {
  let message = "";
  try {
    const body = (await response.json()) as { error?: { message?: string } };
    message = body.error?.message ?? "";
  } catch {
    // not JSON: the status has to do
  }
  const said = message === "" ? response.statusText || "no reason given" : message;
  return new ApiError(
    `The server answered ${response.status}: ${said}.`,
    response.status,
    kAdvice[response.status] ?? "Try again; if the error persists, check the server's output.",
  );
}

declare global {
  interface Window {
    // The request that first.js sent before this code was loaded.
    corralFirst?: { path: string; body: string; answer: Promise<Response> } | undefined;
  }
}

// The answer to a question that was asked early; it is given once.
function early(path: string, { body }: RequestInit): Promise<Response> | undefined {
  const first = window.corralFirst;
  if (first === undefined || first.path !== path || first.body !== body) return undefined;
  window.corralFirst = undefined;
  return first.answer;
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await (early(path, init) ?? fetch(kBase + path, init));
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(
      `The server at ${location.host} does not answer.`,
      0,
      "Start it with corral serve or the next corral run. The page reconnects automatically.",
    );
  }
  if (response.status === 401) signedOut();
  if (!response.ok) throw await failure(response);
  return response;
}

export type Query = Record<string, string | number | undefined>;

export async function getJson<T>(path: string, query: Query, signal: AbortSignal): Promise<T> {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) search.set(key, String(value));
  }
  const suffix = search.size > 0 ? `?${search}` : "";
  const response = await request(path + suffix, {
    signal,
    headers: { Accept: "application/json" },
  });
  return (await response.json()) as T;
}

async function send(
  method: string,
  path: string,
  at: { body?: unknown; accept: string; signal?: AbortSignal | undefined },
): Promise<Response> {
  const headers: Record<string, string> = { Accept: at.accept };
  const init: RequestInit = { method, headers, signal: at.signal ?? null };
  if (at.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(at.body);
  }
  return request(path, init);
}

// Binary answers: charts, lines.
export async function postBinary(
  path: string,
  at: { body: unknown; accept: string; signal?: AbortSignal | undefined },
): Promise<ArrayBuffer> {
  return (await send("POST", path, at)).arrayBuffer();
}

export async function sendJson<T>(
  method: "POST" | "PUT" | "DELETE",
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const response = await send(method, path, { body, accept: "application/json", signal });
  return (await response.json()) as T;
}

export const urlOf = (path: string) => kBase + path;

// The first bytes of a file as text, and whether there are more.
export async function getText(
  path: string,
  most: number,
  signal: AbortSignal,
): Promise<{ text: string; size: number }> {
  // Browsers keep a part of a file, and answer with it for another file at the same address.
  const cache = "no-store";
  const headers = { Range: `bytes=0-${most - 1}` };
  const response = await request(path, { signal, cache, headers });
  const text = await response.text();
  const total = /\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1];
  return { text, size: total === undefined ? text.length : Number(total) };
}

// A file of at most so many bytes; null: it is larger.
export async function getBlob(
  path: string,
  most: number,
  signal: AbortSignal,
): Promise<Blob | null> {
  const response = await request(path, { signal });
  if (Number(response.headers.get("Content-Length")) > most) {
    await response.body?.cancel();
    return null;
  }
  const blob = await response.blob();
  return blob.size > most ? null : blob;
}

// EventSource cannot go through request(); it shares only the address.
export const kStreamUrl = `${kBase}/stream`;
