import { createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { backupVariables } from './variables/backup-variables.ts'
import { bounceVariables } from './variables/bounce-variables.ts'
import { domainVariables } from './variables/domain-variables.ts'
import { quotaVariables } from './variables/quota-variables.ts'
import { retentionVariables } from './variables/retention-variables.ts'
import { commaSeparated, dnsName, port } from './variables/variable-types.ts'
import { RedisUrl } from './redis-address.ts'

/** An invalid configuration; `message` names every invalid variable. Processes exit with code 78 (EX_CONFIG). */
export class ConfigError extends Error {}

const exampleSecrets = new Set(['change-me', 'changeme', 'secret'])

/** Accepts the full notation only: some parsers read "10/8" as 0.0.0.10/8, and "010.0.0.1" as 8.0.0.1. */
const cidr = z.string().transform((text, check) => {
  const [address = ''] = text.split('/')
  const withPrefix = text.includes('/') ? text : `${text}/${isIP(address) === 6 ? 128 : 32}`
  if (isIP(address) && !address.includes('%') && ipaddr.isValidCIDR(withPrefix)) return withPrefix
  check.addIssue({ code: 'custom', message: `"${text}" is not a network such as 10.0.0.0/8` })
  return z.NEVER
})
const httpUrlWith = (error: string) => z.url({ protocol: /^https?$/, error })
const httpUrl = httpUrlWith('must be an http:// or https:// URL')

const secretKey = z
  .string({ error: 'is required: at least 32 random characters, such as the output of "openssl rand -base64 32"' })
  .min(32, 'must have at least 32 characters')
  .refine((value) => ![...exampleSecrets].some((example) => value.toLowerCase().startsWith(example)), {
    error: 'is an example value: generate a random one',
  })

const postgresUrl = (error: string) => z.url({ protocol: /^postgres(ql)?$/, error })

const commonVariables = {
  DATABASE_URL: postgresUrl('must be set to a postgres:// URL'),
  DATABASE_DIRECT_URL: postgresUrl('must be a postgres:// URL')
    .optional()
    .describe('The URL of the same database without the connection pooler'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
}

const serviceVariables = {
  ...commonVariables,
  REDIS_URL: RedisUrl.optional(),
  PUBLIC_URL: httpUrlWith('must be set to an http:// or https:// URL')
    .refine((url) => !/[?#]/.test(url), 'must have no query and no fragment')
    .transform((url) => url.replace(/\/+$/, ''))
    .describe('The public URL of the API: links in emails start with it'),
  SECRET_KEY: secretKey,
  SECRET_KEY_PREVIOUS: commaSeparated(secretKey).describe(
    'Former SECRET_KEYs: values that they signed or encrypted stay valid',
  ),
  MAIL_FROM: z.email({ error: 'must be set to an email address' }),
  MAIL_FROM_DOMAINS: commaSeparated(
    dnsName('must list domains such as example.com').transform((name) => name.toLowerCase()),
  ).describe('The domains that workspaces and campaigns may send from; empty: any domain'),
  ...domainVariables,
  SIGN_UP: z.enum(['open', 'closed'], { error: 'must be open or closed' }).default('open'),
  REQUIRE_VERIFIED_EMAIL: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('false')
    .transform((text) => text === 'true')
    .describe('Whether an owner must verify an address before a workspace sends email to others than its members'),
  WEBHOOK_ALLOWED_NETWORKS: commaSeparated(cidr).describe('Private networks that webhooks may reach'),
  ...quotaVariables,
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,}$/, 'must have at least 16 characters and no spaces')
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe('The collector of traces; the SDK reads its other variables itself'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).describe('The ratio of traces that are exported'),
  NOTIFY_SOCKET: z.string().optional().describe('Set by systemd for services of Type=notify'),
}

const trustedProxy = z
  .union([z.enum(['loopback', 'linklocal', 'uniquelocal']), cidr], {
    error: 'must list networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal',
  })
  .describe('"true" and hop counts are not accepted: they would let a client forge its address')

const ApiEnvironment = z.object({
  ...serviceVariables,
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  TRUST_PROXY: commaSeparated(trustedProxy),
  RATE_LIMIT_EXEMPT: commaSeparated(cidr).describe('Networks of the own back ends, which have no rate limits'),
  // Browsers send origins without a trailing slash, which a copied URL may have.
  CORS_ORIGINS: commaSeparated(httpUrl.transform((url) => new URL(url).origin)),
  DASHBOARD_USER: z
    .string()
    .min(1)
    .regex(/^[^:]*$/, 'must not contain a colon')
    .default('admin'),
  DASHBOARD_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  SHUTDOWN_DELAY_MS: z.coerce.number().int().min(0).max(300_000).default(0),
})

export interface DkimKey {
  domain: string
  selector: string
  /** PEM */
  privateKey: string
}

/** Accepts `\n` instead of line breaks, which some environment files do not support. */
const rsaKey = z
  .string()
  .transform((pem) => pem.replaceAll('\\n', '\n'))
  .refine(isRsaKey, 'must be an RSA private key of at least 1024 bits in PEM')

function isRsaKey(pem: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(pem)
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= 1024
  } catch {
    return false
  }
}

const WorkerEnvironment = z
  .object({
    ...serviceVariables,
    SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be set to an smtp:// or smtps:// URL' }),
    ...retentionVariables,
    MAIL_RATE: z.coerce.number().positive().max(100_000).optional(),
    WEBHOOK_REFUSED_PORTS: commaSeparated(port).describe(
      'Ports of this machine that webhooks may not reach, even if its loopback addresses are allowed',
    ),
    WORKER_HOST: z.string().default('127.0.0.1'),
    WORKER_PORT: port.optional(),
    ...bounceVariables,
    WORKER_CONCURRENCY: z.coerce.number().int().min(1).max(1000).default(500),
    DKIM_DOMAIN: dnsName('must be a domain name').optional(),
    DKIM_SELECTOR: dnsName('must be a DKIM selector such as mail2026').optional(),
    DKIM_PRIVATE_KEY: rsaKey.optional(),
  })
  .superRefine((environment, check) => {
    const missing = dkimNames.filter((name) => environment[name] === undefined)
    if (missing.length === dkimNames.length) return
    for (const name of missing) {
      check.addIssue({
        code: 'custom',
        path: [name],
        message: 'is required: DKIM needs DKIM_DOMAIN, DKIM_SELECTOR and DKIM_PRIVATE_KEY',
      })
    }
  })
const dkimNames = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_PRIVATE_KEY'] as const

const MigrateEnvironment = z.object(commonVariables)

const BackupEnvironment = z.object({ ...commonVariables, ...backupVariables })

const ClientEnvironment = z.object({
  RAPPORT_API_URL: httpUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
  RAPPORT_API_KEY: z.string().optional(),
})

type Environment = Record<string, string | undefined>

/** Reads the configuration of the API. Throws a ConfigError that names every invalid variable. */
export function readApiConfig(environment: Environment = process.env) {
  return parseEnvironment(ApiEnvironment, environment)
}
export type ApiConfig = ReturnType<typeof readApiConfig>

/** Reads the configuration of the worker. Throws a ConfigError that names every invalid variable. */
export function readWorkerConfig(environment: Environment = process.env) {
  return parseEnvironment(WorkerEnvironment, environment)
}
export type WorkerConfig = ReturnType<typeof readWorkerConfig>

/** The DKIM key that signs emails; undefined if none is configured. */
export function dkimKeyOf(
  config: Pick<WorkerConfig, 'DKIM_DOMAIN' | 'DKIM_SELECTOR' | 'DKIM_PRIVATE_KEY'>,
): DkimKey | undefined {
  const { DKIM_DOMAIN: domain, DKIM_SELECTOR: selector, DKIM_PRIVATE_KEY: privateKey } = config
  return domain && selector && privateKey ? { domain, selector, privateKey } : undefined
}

/** Reads the configuration of a migration. Throws a ConfigError that names every invalid variable. */
export function readMigrateConfig(environment: Environment = process.env) {
  return parseEnvironment(MigrateEnvironment, environment)
}

/** Reads where data is, to search all of it. Throws a ConfigError that names every invalid variable. */
export function readStorageConfig(environment: Environment = process.env) {
  return parseEnvironment(MigrateEnvironment.extend({ REDIS_URL: RedisUrl.optional() }), environment)
}

/** Reads the configuration of backups and restores. Throws a ConfigError that names every invalid variable. */
export function readBackupConfig(environment: Environment = process.env) {
  return parseEnvironment(BackupEnvironment, environment)
}
export type BackupConfig = ReturnType<typeof readBackupConfig>

/** Reads the API URL and API key of the command line. Throws a ConfigError that names every invalid variable. */
export function readClientConfig(environment: Environment = process.env) {
  return parseEnvironment(ClientEnvironment, environment)
}

interface Problem {
  name: string
  message: string
}

/** Returns the valid variables of the API and the worker, and the problems of all programs: for diagnostics. */
export function inspectEnvironment(environment: Environment): {
  config: Partial<ApiConfig & WorkerConfig>
  problems: Problem[]
} {
  const present = withoutEmpty(environment)
  const read = Object.entries({ ...ApiEnvironment.shape, ...WorkerEnvironment.shape }).map(
    ([name, schema]) => [name, isQuoted(present[name]) ? undefined : schema.safeParse(present[name]).data] as const,
  )
  const programs = [ApiEnvironment, WorkerEnvironment, BackupEnvironment]
  const problems = programs.flatMap((schema) => findProblems(schema, environment))
  return {
    config: Object.fromEntries(read.filter(([, value]) => value !== undefined)),
    problems: [...new Map(problems.map((problem) => [problem.name, problem])).values()],
  }
}

export interface VariableDescription {
  name: string
  readBy: string[]
  isRequired: boolean
  /** Undefined if the variable is required or has no default. */
  defaultValue: unknown
}

/** Not settings: systemd sets the first, and `pnpm start` the second, to the ports of its own servers. */
const setByPrograms = ['NOTIFY_SOCKET', 'WEBHOOK_REFUSED_PORTS']

/**
 * Describes every variable that an operator may set. docs/configuration.md, the table of README.md, .env.example and the
 * chart are tested against it.
 */
export function describeVariables(): VariableDescription[] {
  const programs = Object.entries({
    API: ApiEnvironment,
    worker: WorkerEnvironment,
    migrate: MigrateEnvironment,
    CLI: ClientEnvironment.extend(backupVariables),
  })
  const shapes = programs.flatMap(([program, { shape }]) =>
    Object.entries<z.ZodType>(shape).map(([name, schema]) => ({ program, name, schema })),
  )
  const settings = shapes.filter(({ name }) => !setByPrograms.includes(name))
  return [...Map.groupBy(settings, ({ name }) => name)].map(([name, uses]) => {
    const results = uses.map(({ schema }) => schema.safeParse(undefined))
    return {
      name,
      readBy: uses.map(({ program }) => program),
      isRequired: results.some(({ success }) => !success),
      defaultValue: results.find(({ success }) => success)?.data,
    }
  })
}

/** The whole environment, for programs that pass it to child processes. */
export function inheritedEnvironment(): Environment {
  return { ...process.env }
}

function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): Readonly<z.output<Schema>> {
  const problems = findProblems(schema, environment)
  if (problems.length === 0) return Object.freeze(schema.parse(withoutEmpty(environment)))
  const lines = problems.map(({ name, message }) => `  ${name}: ${message}`)
  throw new ConfigError(`Invalid configuration:\n${lines.join('\n')}`)
}

function findProblems(schema: z.ZodObject, environment: Environment): Problem[] {
  const quoted = Object.keys(schema.shape).filter((name) => isQuoted(environment[name]))
  const issues = schema.safeParse(withoutEmpty(environment)).error?.issues ?? []
  const invalid = issues.map(({ path: [name], message }) => ({ name: String(name), message }))
  return [
    ...quoted.map((name) => ({ name, message: quotedMessage })),
    ...invalid.filter(({ name }) => !quoted.includes(name)),
  ]
}

const quotedMessage = 'remove the quotation marks around it, which "docker run --env-file" keeps'
const isQuoted = (text = '') => /^(?:"[^"]*"|'[^']*')$/.test(text)

/** Treats an empty variable as unset: compose files set variables to an empty string. */
function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
}
