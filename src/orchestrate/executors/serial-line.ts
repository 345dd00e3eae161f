// One open serial line. Who names a speed gets the package `serialport`; who does not, the device file as it is set.
//
// I1. A device file is put into raw mode (no echo, no line editing) and left as it was found when it closes.

import { closeSync, constants, openSync } from "node:fs";
import { open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { isatty, ReadStream } from "node:tty";
import { Fault } from "../../kernel/errors.ts";

export interface SerialLine {
  write(text: string): Promise<void>;
  onText(listener: (text: string) => void): void;
  /** Told once when the line breaks or ends. */
  onEnd(listener: (error: Error) => void): void;
  close(): Promise<void>;
}

/** Rejects with the machine's own words, or Fault `environment.unusable` where a package is missing. */
export function openSerialLine(path: string, baudRate: number | undefined): Promise<SerialLine> {
  return baudRate === undefined ? openDeviceFile(path) : openPort(path, baudRate);
}

async function openDeviceFile(path: string): Promise<SerialLine> {
  // Non-blocking, or opening would wait for a carrier; not our controlling terminal.
  const fd = openSync(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK);
  if (!isatty(fd)) {
    closeSync(fd);
    throw new Fault("environment.unusable", `${path} is no serial line`, {
      hint: "Name a device such as /dev/ttyUSB0.",
    });
  }
  const stream = new ReadStream(fd);
  stream.setRawMode(true);
  const writer = await open(path, constants.O_WRONLY | constants.O_NOCTTY);
  const decoder = new StringDecoder("utf8");
  return {
    async write(text) {
      await writer.writeFile(text);
    },
    onText: (listener) => void stream.on("data", (chunk: Buffer) => listener(decoder.write(chunk))),
    onEnd(listener) {
      stream.once("error", listener);
      stream.once("end", () => listener(new Error("the line ended")));
    },
    async close() {
      stream.setRawMode(false);
      stream.destroy();
      await writer.close();
    },
  };
}

/** As much of the package `serialport` as is used. @source serialport 12, its own documentation. */
interface SerialPort {
  open(done: (error: Error | null) => void): void;
  write(text: string, done: (error: Error | null | undefined) => void): void;
  drain(done: (error: Error | null) => void): void;
  on(event: "data", listener: (chunk: Buffer) => void): void;
  once(event: "error" | "close", listener: (error?: Error) => void): void;
  close(done: (error: Error | null) => void): void;
  readonly isOpen: boolean;
}

type PortClass = new (options: { path: string; baudRate: number; autoOpen: false }) => SerialPort;

async function openPort(path: string, baudRate: number): Promise<SerialLine> {
  const Port = await loadPort();
  const port = new Port({ path, baudRate, autoOpen: false });
  const done = (call: (done: (error?: Error | null) => void) => void) =>
    new Promise<void>((resolve, reject) => call((error) => (error ? reject(error) : resolve())));
  await done((end) => port.open(end));
  const decoder = new StringDecoder("utf8");
  return {
    async write(text) {
      await done((end) => port.write(text, end));
      await done((end) => port.drain(end));
    },
    onText: (listener) => port.on("data", (chunk) => listener(decoder.write(chunk))),
    onEnd(listener) {
      port.once("error", (error) => listener(error ?? new Error("the line broke")));
      port.once("close", (error) => listener(error ?? new Error("the line ended")));
    },
    async close() {
      if (port.isOpen) await done((end) => port.close(end));
    },
  };
}

async function loadPort(): Promise<PortClass> {
  // A variable: who does not use serial lines need not have the package, nor its types.
  const name = "serialport";
  try {
    return ((await import(name)) as { SerialPort: PortClass }).SerialPort;
  } catch (cause) {
    throw new Fault("environment.unusable", "the package `serialport` is not installed", {
      hint: "Run npm install serialport; or set the speed with stty -F and leave baudRate out.",
      cause,
    });
  }
}
