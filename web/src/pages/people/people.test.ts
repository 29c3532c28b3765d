import { expect, test } from "vitest";
import type { AccessToken } from "../../api/people";
import { tokenState } from "./TokenTable";

const kToken: AccessToken = {
  id: "0123456789",
  user: "ada",
  label: null,
  role: "reader",
  created_ns: "1000000000",
  expires_ns: "9000000000",
  revoked_ns: null,
};

test("a token counts until the moment at which it expires, or is revoked", () => {
  expect(tokenState(kToken, new Date(8999))).toBe("valid");
  expect(tokenState(kToken, new Date(9000))).toBe("expired");
  expect(tokenState({ ...kToken, revoked_ns: "2000000000" }, new Date(3000))).toBe("revoked");
});
