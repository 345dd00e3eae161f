// Which secret may go to which host: well-known APIs and the names their own tokens go by.
//
// I1. A host is matched whole: `api.github.com.evil.io`, `api-github.com` and `api.github.com@evil.io` are other hosts.

/** Exact host → what a variable's folded name begins with, or holds as a whole part. */
const APIS: Readonly<Record<string, string>> = {
  "api.github.com": "github|gh",
  "uploads.github.com": "github|gh",
  "github.com": "github|gh",
  "raw.githubusercontent.com": "github|gh",
  "ghcr.io": "github|gh|ghcr",
  "slack.com": "slack",
  "www.slack.com": "slack",
  "hooks.slack.com": "slack",
  "gitlab.com": "gitlab|gl|ci_job",
  "bitbucket.org": "bitbucket",
  "api.bitbucket.org": "bitbucket",
  "api.openai.com": "openai",
  "api.anthropic.com": "anthropic|claude",
  "openrouter.ai": "openrouter",
  "generativelanguage.googleapis.com": "gemini|google",
  "api.mistral.ai": "mistral",
  "api.groq.com": "groq",
  "api.deepseek.com": "deepseek",
  "api.x.ai": "xai|grok",
  "api.cohere.com": "cohere|co",
  "huggingface.co": "hf|huggingface|hugging_face",
  "api-inference.huggingface.co": "hf|huggingface|hugging_face",
  "api.telegram.org": "telegram|tg|bot",
  "discord.com": "discord",
  "graph.facebook.com": "facebook|fb|whatsapp",
  "api.notion.com": "notion",
  "api.linear.app": "linear",
  "api.stripe.com": "stripe",
  "api.cloudflare.com": "cloudflare|cf",
  "api.digitalocean.com": "digitalocean|do",
  "api.hetzner.cloud": "hetzner|hcloud",
  "api.heroku.com": "heroku",
  "api.vercel.com": "vercel",
  "api.netlify.com": "netlify",
  "api.fly.io": "fly",
  "api.machines.dev": "fly",
  "api.sendgrid.com": "sendgrid",
  "api.resend.com": "resend",
  "api.mailgun.net": "mailgun",
  "api.twilio.com": "twilio",
  "api.pagerduty.com": "pagerduty|pd",
  "events.pagerduty.com": "pagerduty|pd",
  "api.datadoghq.com": "datadog|dd",
  "api.datadoghq.eu": "datadog|dd",
  "sentry.io": "sentry",
  "api.airtable.com": "airtable",
  "api.trello.com": "trello",
  "app.asana.com": "asana",
  "api.hubapi.com": "hubspot",
  "registry.npmjs.org": "npm|node_auth",
  "hub.docker.com": "docker|dockerhub",
  "api.pushover.net": "pushover",
  "api.todoist.com": "todoist",
  "api.dropboxapi.com": "dropbox",
  "api.tavily.com": "tavily",
  "api.search.brave.com": "brave",
};

const OWNERS = new Map(
  Object.entries(APIS).map(
    ([host, names]) => [host, new RegExp(`^(?:\\w+_)?(?:${names})(?:_|\\d|$)|^(?:${names})`)] as const,
  ),
);

/** Names that say nothing about whose secret it is; legal at every known API. */
const ANYBODY = /^(?:api_|auth_|access_|bearer_|bot_|user_|my_|personal_access_)?(?:token|key|pat|auth)$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1|host\.docker\.internal)$/;

/** The hosts of the table, for the docs and their test. */
export const KNOWN_APIS: readonly (readonly [host: string, names: string])[] = Object.entries(APIS);

/** Whether this machine itself is meant: nothing leaves it. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether a secret of this name may go to this host (both folded). */
export function maySend(name: string, host: string): boolean {
  if (isLoopback(host)) return true;
  const owner = OWNERS.get(host);
  return owner !== undefined && (ANYBODY.test(name) || owner.test(name));
}
