// Migration 9: files that go out with messages (issue D 4).

import type { Dialect } from "../dialect.ts";

export function mediaColumns({ textType: text }: Dialect): string[] {
  return [
    `ALTER TABLE "deliveries" ADD COLUMN "media" ${text}`,
    // Its file's name once more, to be looked for.
    `ALTER TABLE "deliveries" ADD COLUMN "mediaFile" ${text}`,
    `CREATE INDEX "deliveriesByMedia" ON "deliveries" ("mediaFile") WHERE "mediaFile" IS NOT NULL`,
  ];
}
