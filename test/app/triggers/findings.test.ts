import { join } from "node:path";
import { expect, test } from "vitest";
import { diagnose } from "../../../src/app/doctor.ts";
import { tempFolder } from "../../support/temp.ts";
import { triggerHome } from "./home.ts";

test("doctor names the topics and folders that jobs wait for in vain, and those jobs", async () => {
  const [home, folder] = [await triggerHome(), await tempFolder()];
  await home.job("parts", { mqtt: "plc/arrived" });
  await home.job("orders", { mqtt: "orders", url: "mqtt://127.0.0.1:9", password: "${env:NOT_THERE}" });
  await home.job("well", { mqtt: "well", url: "mqtt://127.0.0.1:9" });
  await home.job("load", { watch: join(folder, "gone", "*.csv") });
  await home.job("also", { watch: join(folder, "gone", "*.csv") });
  await home.job("fine", { watch: `${folder}/` });

  const { findings } = await diagnose(home.context);

  const words = findings
    .filter(({ code }) => ["topicNotHeard", "watchedFolderMissing"].includes(code))
    .map(({ code, what }) => `${code}: ${what}`);
  expect(words).toHaveLength(3);
  expect(words).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^topicNotHeard: The topic "plc\/arrived", which sets off parts, .*no broker is named/,
      ),
      expect.stringMatching(/^topicNotHeard: The topic "orders", which sets off orders, .*NOT_THERE/),
      `watchedFolderMissing: The folder ${join(folder, "gone")}, whose files set off also, load, is not there or cannot be read.`,
    ]),
  );
});
