// Rules of files: whole or not at all, byte for byte, and refused with a reason.

import { expect, test } from "vitest";
import { never, said } from "./asking.ts";
import type { Bench } from "./contract.ts";

export function fileRules(get: () => Bench): void {
  test("20 MB are written and read back byte for byte; folders are made on the way", async () => {
    const { environment } = get();
    const data = Buffer.alloc(20_000_000);
    for (let at = 0; at < data.length; at += 4) data.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
    const path = "/tmp/files/deep/with space/夜 'quoted'.bin";

    await environment.writeFile(path, data, { signal: never });
    const back = await environment.readFile(path, { signal: never });

    expect(Buffer.from(back).equals(data)).toBe(true);
    expect(
      await said(
        environment,
        `cd "/tmp/files/deep/with space" && printf '%s\\n' *; cd /tmp; rm -r /tmp/files`,
      ),
    ).toBe("夜 'quoted'.bin\n");
  });

  test("a file that exists keeps its mode, a new one is 644 or as asked, a link is followed", async () => {
    const { environment } = get();
    await said(
      environment,
      "cd /tmp; mkdir links; echo old >links/script; chmod 750 links/script; ln -s script links/link",
    );
    await environment.writeFile("/tmp/links/link", Buffer.from("new"), { signal: never });
    await environment.writeFile("/tmp/links/fresh", Buffer.from(""), { signal: never });
    await environment.writeFile("/tmp/links/secret", Buffer.from("x"), { signal: never, mode: 0o600 });
    const modes =
      "cd /tmp/links; cat script; echo; ls -l | awk 'NR > 1 {print $1, $NF}'; cd /tmp; rm -r links";
    expect((await said(environment, modes)).replace(/\.? /g, " ")).toBe(
      "new\n-rw-r--r-- fresh\nlrwxrwxrwx script\n-rwxr-x--- script\n-rw------- secret\n",
    );
  });

  test("a relative path is taken from the session's directory", async () => {
    const { environment } = get();
    await said(environment, "cd /tmp");
    await environment.writeFile("relative.txt", Buffer.from("here"), { signal: never });
    expect(await said(environment, "cat /tmp/relative.txt; rm /tmp/relative.txt")).toBe("here");
  });

  test("what cannot be read or written is refused with its kind", async () => {
    const { environment } = get();
    const read = (path: string, maxBytes?: number) =>
      environment.readFile(path, { signal: never, ...(maxBytes !== undefined && { maxBytes }) });
    await said(environment, "cd /tmp; echo 12345 >five; mkdir -p folder");
    await expect(read("/tmp/absent")).rejects.toMatchObject({ code: "environment.file-missing" });
    await expect(read("/tmp/folder")).rejects.toMatchObject({ code: "environment.file-refused" });
    await expect(read("/tmp/five", 5)).rejects.toMatchObject({ code: "environment.file-refused" });
    expect(Buffer.from(await read("/tmp/five", 6)).toString()).toBe("12345\n");
    await expect(
      environment.writeFile("/tmp/folder", Buffer.from("x"), { signal: never }),
    ).rejects.toMatchObject({
      code: "environment.file-refused",
    });
    await expect(
      environment.writeFile("/tmp/five/below", Buffer.from("x"), { signal: never }),
    ).rejects.toMatchObject({
      code: "environment.file-refused",
    });
    await expect(environment.writeFile("a\0b", Buffer.from("x"), { signal: never })).rejects.toMatchObject({
      code: "environment.file-refused",
    });
    await said(environment, "rm -r /tmp/five /tmp/folder");
  });
}
