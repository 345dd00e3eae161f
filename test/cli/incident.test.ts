// Incidents from the command line: what is wrong, and saying that one knows.

import { expect, test } from "vitest";
import { cliHome, oneLine } from "./run-cli.ts";

test("incident list, show and ack: a failing job is one incident; a known one is refused a second time", async () => {
  const home = await cliHome();
  await home.run(["job", "add", "manual", "--script", "fail.sh", "--id", "fails"]);
  for (let n = 0; n < 2; n++) await home.run(["job", "run", "fails", "--here"]);

  const [incident] = await home.json<{ id: string; failures: number; state: string }[]>("incident", "list");
  const shown = await home.run(["incident", "show", "fails-"]);
  const known = await home.run(["incident", "ack", incident?.id ?? "", "--note", "on it"]);
  const again = await home.run(["incident", "ack", incident?.id ?? ""]);

  expect(incident).toMatchObject({ failures: 2, state: "open" });
  expect(shown.stdout).toMatch(/^incident +fails-[0-9a-f]{12}\njob +fails\nstate +open\n/);
  expect(known.stdout).toMatch(/acknowledged: no more alerts until it is over/);
  expect(oneLine(again)).toMatch(/is acknowledged by cli:ada; only open ones are acknowledged/);
  expect((await home.run(["incident", "list"])).stdout).toContain("acknowledged");
  expect((await home.run(["incident", "list", "--state", "open"])).stdout).toBe("No incidents.\n");
});
