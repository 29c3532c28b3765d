// Answers that the server makes one at a time: while it is busy with others it is asked again for some minutes, ever
// more rarely.
import { ApiError } from "./client";

const kMostRetries = 12;
const kFirstRetry = 2000;
const kLongestRetry = 30_000;

export const isBusy = (error: unknown) => error instanceof ApiError && error.status === 503;

// Options of their queries.
export const kLate = {
  retry: (count: number, error: Error) => isBusy(error) && count < kMostRetries,
  retryDelay: (count: number) => Math.min(kLongestRetry, kFirstRetry * 2 ** count),
};
