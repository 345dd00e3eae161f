// What executors that talk to the network take from a context.

import type { HttpDeps } from "../../orchestrate/executors/http-executor.ts";
import type { MqttDeps } from "../../orchestrate/executors/mqtt-executor.ts";
import type { Context } from "../context.ts";
import { platformSettings } from "../platform-settings.ts";

export function httpDeps({ clock, resolveReferences }: Context): HttpDeps {
  return { clock, resolve: resolveReferences };
}

export function mqttDeps({ config, resolveReferences }: Context): MqttDeps {
  return {
    resolve: resolveReferences,
    broker() {
      const settings = platformSettings({ config, resolve: resolveReferences }).mqtt;
      if (settings?.kind !== "ready") return undefined;
      const { url, user: username, password } = settings.config;
      return { url, username, password };
    },
  };
}
