// Which network addresses may be reached on behalf of a person or an agent: public ones, and what the config allows (SSRF).
//
// I1. Fail closed: what is not known to be public is not.
// I2. An IPv4 address inside an IPv6 one is judged as the IPv4 address it leads to.

import { BlockList, isIP, isIPv4 } from "node:net";
import { Fault } from "./errors.ts";

/** @source IANA IPv4 Special-Purpose Address Registry, plus multicast (224/4) and reserved (240/4). */
const SPECIAL_IPV4: readonly [string, number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];
/** @source IANA IPv6 Special-Purpose Address Registry: parts of 2000::/3 that are not public (Teredo, ORCHID, documentation, 6to4). */
const SPECIAL_IPV6: readonly [string, number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

interface Registry {
  special: BlockList;
  globalIpv6: BlockList;
}

let known: Registry | undefined;

/** Made on first use: most commands judge no address, and node:net is not small. */
function registry(): Registry {
  if (known) return known;
  const special = new BlockList();
  for (const [net, prefix] of SPECIAL_IPV4) special.addSubnet(net, prefix, "ipv4");
  for (const [net, prefix] of SPECIAL_IPV6) special.addSubnet(net, prefix, "ipv6");
  const globalIpv6 = new BlockList();
  globalIpv6.addSubnet("2000::", 3, "ipv6");
  known = { special, globalIpv6 };
  return known;
}

/** Whether this address is on the public internet. Text that is no address is not. */
export function isPublicAddress(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
  const family = isIP(plain);
  if (family === 0) return false;
  const { special, globalIpv6 } = registry();
  if (family === 4) return !special.check(plain, "ipv4");
  const embedded = embeddedIpv4(plain);
  if (embedded !== undefined) return isPublicAddress(embedded);
  return globalIpv6.check(plain, "ipv6") && !special.check(plain, "ipv6");
}

/** Says whether a host may be reached at an address. Host names are compared as written, addresses by network. */
export type AllowAddress = (host: string, address: string) => boolean;

/** Public addresses, and what `allowPrivate` names: host names, addresses or CIDR networks. Throws `config.invalid`. */
export function makeAllowAddress(allowPrivate: readonly string[]): AllowAddress {
  let networks: BlockList | undefined;
  const hosts = new Set<string>();
  for (const entry of allowPrivate) {
    const [net = "", prefix] = entry.trim().replace(/[[\]]/g, "").split("/");
    const family = isIP(net);
    if (family === 0 && prefix === undefined && net !== "") hosts.add(net.toLowerCase());
    else {
      networks ??= new BlockList();
      if (!addNetwork(networks, net, prefix)) throw unreadable(entry);
    }
  }
  return (host, address) => {
    const plain = address.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
    if (hosts.has(host.toLowerCase().replace(/\.$/, ""))) return true;
    if (isPublicAddress(plain)) return true;
    const form = embeddedIpv4(plain) ?? plain;
    return networks !== undefined && isIP(form) !== 0 && networks.check(form, isIPv4(form) ? "ipv4" : "ipv6");
  };
}

function addNetwork(networks: BlockList, net: string, prefix: string | undefined): boolean {
  const family = isIP(net);
  const bits = prefix === undefined ? (family === 4 ? 32 : 128) : Number(prefix);
  if (
    family === 0 ||
    prefix === "" ||
    !Number.isInteger(bits) ||
    bits < 0 ||
    bits > (family === 4 ? 32 : 128)
  )
    return false;
  networks.addSubnet(net, bits, family === 4 ? "ipv4" : "ipv6");
  return true;
}

/** The IPv4 address inside ::ffff:0:0/96 (mapped), ::/96 (compatible) or 64:ff9b::/96 (NAT64, RFC 6052). */
function embeddedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const groups = expandIpv6(address);
  const head = groups.slice(0, 6).join(":");
  const isEmbedding = ["0:0:0:0:0:65535", "0:0:0:0:0:0", "100:65435:0:0:0:0"].includes(head);
  const [high = 0, low = 0] = groups.slice(6);
  if (!isEmbedding || (head === "0:0:0:0:0:0" && high === 0)) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Eight numbers. The input is a valid address. */
function expandIpv6(address: string): number[] {
  const dotted = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    const hex = (high: string, low: string) => (Number(high) * 256 + Number(low)).toString(16);
    return `${hex(a, b)}:${hex(c, d)}`;
  });
  const [head = "", tail] = dotted.split("::");
  const read = (text: string) =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const front = read(head);
  if (tail === undefined) return front;
  const back = read(tail);
  return [...front, ...Array.from({ length: 8 - front.length - back.length }, () => 0), ...back];
}

function unreadable(entry: string): Fault {
  return new Fault("config.invalid", `"${entry}" is not a host, an address or a network`, {
    hint: "Write a host name, an address, or a network such as 10.0.0.0/8 under `allowPrivate`.",
  });
}
