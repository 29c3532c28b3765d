// The only place that talks HTTP. Every failure becomes an ApiError whose message is a sentence that says
// what is so; `advice` says what to do next.

const kBase = "/api/corral/v1";

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
  401: "Open the page with ?token=TOKEN, the token of the server's token file.",
  403: "Open the page under a name that the server listens on, for example 127.0.0.1.",
  404: "It may have been deleted, or the address is mistyped. The list of runs shows what there is.",
  503: "The server is busy or starting; the page tries again by itself.",
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
    kAdvice[response.status] ?? "Try again; if it stays so, look at the server's own output.",
  );
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(kBase + path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(
      `The server at ${location.host} does not answer.`,
      0,
      "Start it with corral serve, or with the next corral run. The page goes on by itself.",
    );
  }
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

export interface ChartsRequest {
  series: number[];
  from_ns: string;
  to_ns: string;
  width: number;
  mode: "auto" | "value" | "rate";
}

export async function postCharts(body: ChartsRequest, signal: AbortSignal): Promise<ArrayBuffer> {
  const response = await request("/charts", {
    method: "POST",
    signal,
    headers: { "Content-Type": "application/json", Accept: "application/x-corral-chart" },
    body: JSON.stringify(body),
  });
  return await response.arrayBuffer();
}

// EventSource cannot go through request(); it shares only the address.
export const kStreamUrl = `${kBase}/stream`;
