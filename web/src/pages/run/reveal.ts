// Brings a profile's part of the page into view, as soon as it is there: its files come a moment after it is done.
const kTries = 100;
const kPauseMs = 100;

export const profileElementId = (path: string) => `profile:${path}`;

export async function reveal(path: string): Promise<void> {
  for (let i = 0; i < kTries; ++i) {
    const found = document.getElementById(profileElementId(path));
    if (found !== null) {
      found.scrollIntoView({ block: "start" });
      found.focus({ preventScroll: true });
      return;
    }
    await new Promise((done) => setTimeout(done, kPauseMs));
  }
}
