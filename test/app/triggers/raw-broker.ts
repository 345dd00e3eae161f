// A broker of MQTT 3.1.1 by hand, as far as one listener needs one: the test says packet identifiers and DUP itself.
// @source MQTT 3.1.1 §2.2, §3.1 to §3.9.

import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface RawMessage {
  topic: string;
  payload: string | Uint8Array;
  packetId: number;
  qos?: 1 | 2;
  isDup?: boolean;
  isRetained?: boolean;
}

const CONNECT = 1;
const SUBSCRIBE = 8;
const PUBREL = Buffer.from([0x62, 2]);
/** Answers of a listener: PUBACK, PUBREC. */
const ACKS = [4, 5];
/** The level of the protocol in CONNECT: 3.1.1. */
const LEVEL = 4;
const UNACCEPTABLE = Buffer.from([0x20, 2, 0, 1]);

export async function rawBroker() {
  let subscriber: Socket | undefined;
  let onSubscribed = () => {};
  const acks = new Map<number, () => void>();
  const sockets = new Set<Socket>();
  const filters: string[] = [];
  const take = (socket: Socket, kind: number, body: Buffer) => {
    if (kind === CONNECT) socket.write(body[6] === LEVEL ? Buffer.from([0x20, 2, 0, 0]) : UNACCEPTABLE);
    if (kind === SUBSCRIBE) {
      filters.push(body.subarray(4, 4 + body.readUInt16BE(2)).toString());
      socket.write(Buffer.from([0x90, 3, body[0] ?? 0, body[1] ?? 0, 1]));
      subscriber = socket;
      onSubscribed();
    }
    if (!ACKS.includes(kind)) return;
    if (kind === 5) socket.write(Buffer.concat([PUBREL, body.subarray(0, 2)]));
    acks.get(body.readUInt16BE(0))?.();
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("data", (data) => {
      // Short packets only, each with one byte of length; several may come at once.
      for (let at = 0; at < data.length; ) {
        const length = data[at + 1] ?? 0;
        take(socket, (data[at] ?? 0) >> 4, data.subarray(at + 2, at + 2 + length));
        at += 2 + length;
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    filters,
    async subscribed() {
      while (!subscriber)
        await new Promise<void>((resolve) => {
          onSubscribed = resolve;
        });
    },
    /** Resolves when the listener has answered for it. */
    publish({ topic, payload, packetId, qos = 1, isDup = false, isRetained = false }: RawMessage) {
      const name = Buffer.from(topic);
      const id = Buffer.from([packetId >> 8, packetId & 255]);
      const length = Buffer.from([name.length >> 8, name.length & 255]);
      const body = Buffer.concat([length, name, id, Buffer.from(payload)]);
      const flags = (isDup ? 8 : 0) | (qos << 1) | (isRetained ? 1 : 0);
      const answered = new Promise<void>((resolve) => acks.set(packetId, resolve));
      subscriber?.write(Buffer.concat([Buffer.from([0x30 | flags, body.length]), body]));
      return answered;
    },
  };
}
