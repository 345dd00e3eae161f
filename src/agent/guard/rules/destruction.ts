// Destruction: files, disks, databases, history, clusters.

import { commandArgs, isVitalPath } from "../command-args.ts";
import { deciding, matching, phrase, type Rule, unspaced } from "../rule.ts";

/** Tables that are made to be dropped. */
const PASSING = "(?:tmp|temp|test|staging|stg|scratch|old)";
const NAME = '["`\\[]?[\\w.$]{1,80}["`\\]]?';
const DISK = "/dev/(?:sd|nvme|hd|vd|xvd|disk|rdisk|mmcblk|mapper/)";

export const destruction: readonly Rule[] = [
  {
    id: "destructive-root-rm",
    class: "destruction",
    reason: "It deletes the root, a system folder or a whole home.",
    modes: ["strict"],
    forms: [
      deciding("rm|/bin/rm|rmdir", (rest) => {
        if (/^\s[^\n;|&]{0,120}--no-preserve-root/.test(rest)) return true;
        const args = commandArgs(rest);
        const isRecursive = args.some((arg) => /^-[a-z]*r|^--(?:recursive|dir)/.test(arg));
        return /^\s/.test(rest) && isRecursive && args.some(isVitalPath);
      }),
      deciding("find", (rest) => {
        if (
          !/^\s/.test(rest) ||
          !/\s-delete\b|-exec(?:dir)?\s+(?:\/bin\/)?(?:rm|shred|unlink)\b|xargs\s[^\n]{0,40}\brm\b/.test(
            rest.split("\n", 1)[0] ?? "",
          )
        )
          return false;
        return commandArgs(rest).some(isVitalPath);
      }),
      deciding("mv", (rest) => {
        const args = commandArgs(rest);
        return /^\s/.test(rest) && args.some(isVitalPath) && args.some((arg) => arg === "/dev/null");
      }),
      deciding("chmod|chown", (rest) => {
        const args = commandArgs(rest);
        return (
          /^\s/.test(rest) &&
          args.some((arg) => /^-[a-z]*r|^--recursive/.test(arg)) &&
          args.slice(1).some(isVitalPath)
        );
      }),
      deciding("remove-item|ri|rd|del|erase|rmdir", (rest) => {
        const args = commandArgs(rest);
        const isRecursive = args.some((arg) => /^-r|^\/s$/.test(arg));
        return /^\s/.test(rest) && isRecursive && args.some(isVitalPath);
      }),
      // An argument list of another language: `["rm", "-rf", "/"]`.
      matching(
        "rm",
        "[\"'],\\s{0,2}[\"']-\\w{0,3}r\\w{0,3}[\"'],\\s{0,2}[\"'](?:/|~|/\\*|/(?:home|etc|usr|var))[\"']",
      ),
      matching("shutil.rmtree|rmtree|rmsync|rimraf", "\\(?\\s{0,2}[\"'](?:/|~|/(?:home|etc|usr|var)/?)[\"']"),
    ],
    examples: {
      for: ["rm -rf /", "sudo rm -fr ~/*", "find / -delete"],
      against: [
        "rm -rf build/",
        "rm -rf /tmp/nightly-build-*",
        "find /var/log/app -name '*.gz' -mtime +30 -delete",
      ],
    },
  },
  {
    id: "destructive-disk",
    class: "destruction",
    reason: "It overwrites or formats a disk, or starves the machine.",
    modes: ["strict"],
    forms: [
      matching("dd", `\\s[^\\n;|&]{0,120}?\\bof=["']?${DISK}`),
      matching(
        "mkfs|mkfs.ext4|mkfs.ext3|mkfs.xfs|mkfs.btrfs|mkfs.vfat|mke2fs|mkswap|wipefs|shred|blkdiscard|sgdisk|parted|badblocks|cryptsetup",
        `(?:\\.\\w{1,8})?\\s[^\\n;|&]{0,120}?/dev/(?!null|zero|urandom|random|shm)`,
      ),
      unspaced("> /dev/|>/dev/|tee /dev/", "(?:sd|nvme|hd|vd|xvd|disk|mmcblk)"),
      unspaced(":()|: ()", "\\s{0,2}\\{\\s{0,2}:\\s{0,2}\\|\\s{0,2}:"),
      matching("format", "\\s{1,3}[a-z]:(?:\\s|$)"),
      matching("diskpart|diskutil", "\\s[^\\n;]{0,40}?(?:clean|erase)"),
      matching("vssadmin", "\\s{1,3}delete"),
      matching("wbadmin", "\\s{1,3}delete"),
    ],
    examples: {
      for: ["dd if=/dev/zero of=/dev/sda", "mkfs.ext4 /dev/nvme0n1p1", ":(){ :|:& };:"],
      against: ["dd if=/dev/sda of=/backup/sda.img", "mkfs.ext4 disk.img", "./check.sh > /dev/null"],
    },
  },
  {
    id: "destructive-data",
    class: "destruction",
    reason: "It destroys a database or a table.",
    modes: ["strict"],
    forms: [
      matching(
        "drop",
        `\\s{1,4}(?:database|schema)\\s{1,4}(?:if\\s{1,4}exists\\s{1,4})?(?!["\`]?${PASSING})${NAME}\\s{0,4}(?:[;"'\`)]|cascade|$|\\n)`,
      ),
      matching(
        "drop",
        `\\s{1,4}table\\s{1,4}(?:if\\s{1,4}exists\\s{1,4})?(?!["\`]?${PASSING})${NAME}\\s{0,4}(?:[;"'\`),]|cascade|$|\\n)`,
      ),
      matching("truncate", `\\s{1,4}table\\s{1,4}(?!["\`]?${PASSING})${NAME}`),
      matching(
        "delete",
        `\\s{1,4}from\\s{1,4}(?!["\`]?${PASSING})${NAME}\\s{0,4}(?:;|["'\`]|$|\\n|where\\s{1,3}(?:1\\s?=\\s?1|true))`,
      ),
      matching("redis-cli", "\\s[^\\n;|&]{0,60}?flush(?:all|db)"),
      matching("flushall", "(?!\\w)"),
      matching("dropdatabase|dropdb", "\\(\\)|\\s{1,3}[\\w-]"),
    ],
    examples: {
      for: ["DROP TABLE users;", "DELETE FROM users;"],
      against: ["DROP TABLE IF EXISTS tmp_import;", "DELETE FROM sessions WHERE expires_at < now();"],
    },
  },
  {
    id: "destructive-history",
    class: "destruction",
    reason: "It rewrites or deletes a repository's history.",
    modes: ["strict"],
    forms: [
      matching(
        "git",
        "\\s{1,4}push\\s[^\\n;|&]{0,120}?(?:--delete\\s{1,3}|:)(?:main|master|trunk|develop|production)(?![\\w/-])",
      ),
      matching(
        "git",
        "\\s{1,4}push\\s(?=[^\\n;|&]{0,120}?(?:--force\\b(?!-)|\\s-f\\b))[^\\n;|&]{0,120}?(?:--all|--mirror)",
      ),
      matching("git", "\\s{1,4}filter-branch\\s[^\\n]{0,200}?(?:--all|--force|-f\\b)"),
      matching("git", "\\s{1,4}reflog\\s{1,3}expire\\s[^\\n;]{0,60}?now"),
      deciding("rm", (rest) => {
        const args = commandArgs(rest);
        return (
          /^\s/.test(rest) &&
          args.some((arg) => /^-[a-z]*r/.test(arg)) &&
          args.some((arg) => /(?:^|\/)\.git\/?[.,]?$/.test(arg))
        );
      }),
    ],
    examples: {
      for: ["git push origin --delete main", "rm -rf .git"],
      against: [
        "git push --force-with-lease origin feature/login",
        "Explain what happens on `git push --force`.",
      ],
    },
  },
  {
    id: "destructive-infrastructure",
    class: "destruction",
    reason: "It takes down infrastructure with what it stores.",
    modes: ["strict"],
    forms: [
      matching(
        "kubectl|oc",
        "\\s[^\\n;|&]{0,40}?delete\\s{1,4}(?:namespaces?|ns|pvc?|persistentvolume\\w*|crd|nodes?|[^\\n;|&]{0,80}?--all(?![\\w=-]))(?=\\s|$)",
      ),
      matching(
        "terraform|tofu|pulumi|terragrunt",
        "\\s[^\\n;|&]{0,60}?destroy\\b[^\\n;|&]{0,60}?(?:-auto-approve|--yes|-y\\b|-force)",
      ),
      matching("terraform|tofu|pulumi", "\\s{1,4}destroy\\s{0,3}(?:$|\\n|[;&`])"),
      matching(
        "docker|podman",
        "\\s{1,4}(?:system\\s{1,3}prune\\s[^\\n;|&]{0,60}?--volumes|volume\\s{1,3}prune\\s[^\\n;|&]{0,20}?-\\w{0,3}[af])",
      ),
      matching(
        "aws",
        "\\s{1,4}s3\\s{1,4}(?:rb\\s[^\\n;|&]{0,120}?--force|rm\\s{1,3}s3://[\\w.-]{1,64}/?\\s[^\\n;|&]{0,20}?--recursive)",
      ),
      matching("gcloud", "\\s[^\\n;|&]{0,60}?projects\\s{1,3}delete"),
    ],
    examples: {
      for: ["kubectl delete namespace production", "terraform destroy -auto-approve"],
      against: [
        "kubectl delete pod web-7d4b9c -n staging",
        "docker image prune -f",
        "terraform plan -destroy",
      ],
    },
  },
  {
    id: "destructive-request",
    class: "destruction",
    reason: "It asks for a whole disk, home, machine or database to be destroyed.",
    modes: ["strict"],
    forms: [
      phrase(
        "(delete|wipe|erase|destroy|overwrite|remove|nuke|format|shred|purge) {1} (?:all|every|everything|entire|whole|complete|any) {5} (?:home directory|home folder|hard disk|hard drive|disk|drive|file ?system|production|prod|server|machine|computer|root directory|backups)(?![\\p{L}])",
      ),
      unspaced(
        "删除|清空|销毁|抹掉|格式化",
        "[^。;\\n]{0,8}(?:服务器|系统|磁盘|硬盘|电脑|数据库)[^。;\\n]{0,4}(?:所有|全部|一切|整个)",
      ),
      unspaced(
        "删除|清空|销毁",
        "[^。;\\n]{0,4}(?:所有|全部|整个)[^。;\\n]{0,6}(?:系统文件|数据库|磁盘|硬盘|服务器)",
      ),
      phrase(
        "(losche|formatiere) {1} (?:alle|ganze|gesamte|komplette)\\p{L}{0,2} {4} (?:festplatte|server|system|datenbank|heimverzeichnis|rechner)",
      ),
      phrase("(borra|elimina) {1} (?:todos|todas|todo) {4} (?:servidor|disco|sistema|base de datos)"),
      phrase("(supprime|efface) {1} (?:tous|toutes|tout) {4} (?:serveur|disque|systeme|base de donnees)"),
    ],
    examples: {
      for: ["Delete every file in my home directory.", "删除服务器上的所有文件。"],
      against: ["Delete every file older than 30 days in ./cache.", "Hide completed tasks from the list."],
    },
  },
];
