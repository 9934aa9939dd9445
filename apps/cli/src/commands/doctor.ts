import { ConfigError, inspectEnvironment } from '@rapport/core/runtime/config.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { assertUpgradable } from '@rapport/core/db/migrate.ts'
import { assertSupportedServer } from '@rapport/core/db/server-version.ts'
import { isDnsServer } from '@rapport/core/runtime/variables/domain-variables.ts'
import { z } from 'zod'
import { defineCommand, exitCodes, jsonFlag, option, usageError } from '../command.ts'
import { backupsCheck } from '../doctor/backups.ts'
import { bouncesCheck } from '../doctor/bounces.ts'
import { citusCheck } from '../doctor/citus.ts'
import { clocksCheck } from '../doctor/clocks.ts'
import { rateLimitsCheck, retentionCheck, signUpCheck } from '../doctor/configuration.ts'
import { diskCheck } from '../doctor/disk.ts'
import { emailsCheck } from '../doctor/waiting-emails.ts'
import { domainsCheck } from '../doctor/dns/domains.ts'
import { hostsCheck } from '../doctor/dns/hosts.ts'
import { senderCheck } from '../doctor/dns/sender.ts'
import { runChecks, type Finding, findingsAbout } from '../doctor/finding.ts'
import { lostRowsCheck } from '../doctor/lost-rows.ts'
import { partitionsCheck } from '../doctor/partitions.ts'
import { postgresCheck } from '../doctor/postgres.ts'
import { publicUrlCheck } from '../doctor/public-url.ts'
import { quotasCheck } from '../doctor/quotas.ts'
import { judgeCampaign, Receivers } from '../doctor/receivers/judge-campaign.ts'
import { redisCheck } from '../doctor/redis.ts'
import { secretKeyCheck } from '../doctor/secret-key.ts'
import { sendersOfOthersCheck } from '../doctor/dns/senders-of-others.ts'
import { smtpCheck } from '../doctor/smtp.ts'
import { visitorsCheck } from '../doctor/waiting-visitors.ts'
import { webhooksCheck, workCheck, workersCheck } from '../doctor/work.ts'
import { IdOption } from '../id-option.ts'
import type { Terminal } from '../terminal.ts'

const checks = [
  [postgresCheck, citusCheck, partitionsCheck, backupsCheck, redisCheck, clocksCheck, secretKeyCheck],
  [workersCheck, workCheck, webhooksCheck, emailsCheck, quotasCheck, lostRowsCheck, diskCheck],
  [
    smtpCheck,
    senderCheck,
    sendersOfOthersCheck,
    domainsCheck,
    bouncesCheck,
    publicUrlCheck,
    hostsCheck,
    rateLimitsCheck,
    signUpCheck,
    visitorsCheck,
    retentionCheck,
  ],
].flat()

export const doctor = defineCommand({
  positionals: ['campaign'],
  options: z.strictObject({
    campaign: IdOption('cmp').optional().meta(option('<campaign>', 'Id of the campaign to judge, with --as')),
    as: Receivers.optional().meta(
      option('<receivers>', 'Judges the campaign as these receivers do: gmail, yahoo, microsoft'),
    ),
    'dns-server': z
      .string()
      .refine(isDnsServer, 'must be an IP address, optionally with a port')
      .optional()
      .meta(
        option('<address>', 'Name server for the records of domains (default: DNS_SERVER, or that of the machine)'),
      ),
    json: jsonFlag('Prints the findings as JSON'),
  }),
  notes: [
    'Run it on the machine of the worker, with the environment of the worker. It changes nothing and sends no email.',
    'The checks run concurrently, each with a timeout of three seconds. "fail": something does not work, or data can',
    'be lost. "warn": something needs attention. The exit code is 1 if a check fails. With --as, it judges the mail of a',
    'campaign and the DNS records of its sender instead. It does not judge what only the mail server shows: its IP address,',
    'its reverse DNS and its TLS.',
  ].join('\n'),
  async run(cli, { campaign, as, 'dns-server': dnsServer, json }) {
    const { environment, terminal } = cli
    const servers = dnsServer === undefined ? undefined : [dnsServer]
    if (campaign && as) return printFindings(await judgeCampaign(cli, { campaign, as, servers }), { terminal, json })
    if (campaign || as) throw usageError('--as: needs the id of a campaign, as in "rapport doctor --as gmail cmp_…"')
    const { config, problems } = inspectEnvironment(environment)
    const about = findingsAbout('Environment')
    const problemsFound = problems.map(({ name, message }) => about.fail(`${name}: ${message}`, 'See .env.example.'))
    const url = config.DATABASE_URL
    const database = url ? openDatabase(url, { applicationName: 'rapport doctor', onError: () => {} }) : undefined
    if (database) {
      await assertSupportedServer(database.db)
      // If the database is unavailable, its check reports it.
      await withTimeout(assertUpgradable(database.db)).catch((error: unknown) => {
        if (error instanceof ConfigError) throw error
      })
    }
    const invalid = new Set(problems.map(({ name }) => name))
    const backupDirectory = environment['BACKUP_DIRECTORY']
    const found = await runChecks({ config, invalid, database, dnsServers: servers, backupDirectory }, checks)
    const findings = [...(invalid.size > 0 ? problemsFound : [about.ok('all variables are valid')]), ...found]
    // Not awaited: a server that hangs would block the exit.
    database?.close().catch(() => {})
    return printFindings(findings, { terminal, json })
  },
})

function printFindings(
  findings: readonly Finding[],
  { terminal, json }: { terminal: Terminal; json: boolean },
): number {
  terminal.print(json ? JSON.stringify({ findings }, null, 2) : format(findings, terminal))
  return findings.some(({ level }) => level === 'fail') ? exitCodes.failed : exitCodes.success
}

const styles = { ok: 'green', warn: 'yellow', fail: 'red' } as const

function format(findings: readonly Finding[], terminal: Terminal): string {
  const width = Math.max(...findings.map(({ about }) => about.length))
  const lines = findings.flatMap(({ level, about, message, advice, source }) => [
    `${terminal.style(styles[level], level.padEnd(4))}  ${about.padEnd(width)}  ${message}`,
    ...[advice, source].flatMap((text) =>
      text === undefined ? [] : [`${' '.repeat(width + 8)}${terminal.style('dim', text)}`],
    ),
  ])
  const count = (level: Finding['level']) => findings.filter((finding) => finding.level === level).length
  return [...lines, '', `${count('ok')} ok, ${count('warn')} warn, ${count('fail')} fail`].join('\n')
}
