import { createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { RedisUrl } from './redis-address.ts'

/** A configuration that cannot be used; `message` names every variable that is wrong. Processes exit with code 78 on it. */
export class ConfigError extends Error {}

const exampleSecrets = new Set(['change-me', 'changeme', 'secret'])

/** In the full spelling only: "10/8" is 0.0.0.10/8 to some and "010.0.0.1" is 8.0.0.1, and neither says so. */
const cidr = z.string().transform((text, check) => {
  const [address = ''] = text.split('/')
  const withPrefix = text.includes('/') ? text : `${text}/${isIP(address) === 6 ? 128 : 32}`
  if (isIP(address) && !address.includes('%') && ipaddr.isValidCIDR(withPrefix)) return withPrefix
  check.addIssue({ code: 'custom', message: `"${text}" is not a network such as 10.0.0.0/8` })
  return z.NEVER
})
const commaSeparated = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) =>
      typeof value === 'string'
        ? value
            .split(',')
            .map((part) => part.trim())
            .filter(Boolean)
        : [],
    z.array(item),
  )
const dnsName = (error: string) => z.string().regex(/^(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/i, error)
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' })

const secretKey = z
  .string({ error: 'must be set: at least 32 random characters, such as the output of "openssl rand -base64 32"' })
  .min(32, 'must have at least 32 characters')
  .refine((value) => ![...exampleSecrets].some((example) => value.toLowerCase().startsWith(example)), {
    error: 'is an example: choose a random one',
  })

const postgresUrl = (error: string) => z.url({ protocol: /^postgres(ql)?$/, error })

const commonVariables = {
  DATABASE_URL: postgresUrl('must be set to a postgres:// address'),
  DATABASE_DIRECT_URL: postgresUrl('must be a postgres:// address')
    .optional()
    .describe('The same database past the connection pooler that DATABASE_URL leads through'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
}

const port = z.coerce
  .number('must be a port number')
  .refine((value) => Number.isInteger(value) && value >= 0 && value <= 65_535, 'must be a port number')

const serviceVariables = {
  ...commonVariables,
  REDIS_URL: RedisUrl.optional(),
  PUBLIC_URL: httpUrl
    .transform((url) => url.replace(/\/+$/, ''))
    .describe('Where strangers reach the API: links in mails start with it'),
  SECRET_KEY: secretKey,
  SECRET_KEY_PREVIOUS: commaSeparated(secretKey).describe('Former SECRET_KEYs: what they signed or sealed still opens'),
  MAIL_FROM: z.email({ error: 'must be a mail address' }),
  MAIL_FROM_DOMAINS: commaSeparated(
    dnsName('must list domains such as example.com').transform((name) => name.toLowerCase()),
  ).describe('The only domains that a workspace or campaign may send from; none: any'),
  SIGN_UP: z.enum(['open', 'closed'], { error: 'must be open or closed' }).default('open'),
  WEBHOOK_ALLOWED_NETWORKS: commaSeparated(cidr).describe(
    'Networks that webhooks may reach though they are not public',
  ),
  METRICS_TOKEN: z
    .string()
    .regex(/^[!-~]{16,}$/, 'must have at least 16 characters, and no spaces')
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional().describe('Where traces go; the SDK reads its other variables itself'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).default(1).describe('The part of all traces that is kept'),
  NOTIFY_SOCKET: z.string().optional().describe('Set by systemd for those who are to tell when they are ready'),
}

const trustedProxy = z
  .union([z.enum(['loopback', 'linklocal', 'uniquelocal']), cidr], {
    error: 'must list networks such as 10.0.0.0/8, or loopback, linklocal, uniquelocal',
  })
  .describe('A word or network; "true" and hop counts would let a client forge its address')

const ApiEnvironment = z.object({
  ...serviceVariables,
  DATABASE_REPLICA_URL: postgresUrl('must be a postgres:// address')
    .optional()
    .describe('A streaming replica, which long reads go to as long as it knows all that the primary does'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  TRUST_PROXY: commaSeparated(trustedProxy),
  // As browsers send it: an address that was copied with a slash at its end is meant all the same.
  CORS_ORIGINS: commaSeparated(httpUrl.transform((url) => new URL(url).origin)),
  DASHBOARD_USER: z.string().min(1).default('admin'),
  DASHBOARD_PASSWORD: z.string().min(8, 'must have at least 8 characters').optional(),
  SHUTDOWN_DELAY_MS: z.coerce.number().int().min(0).max(300_000).default(0),
})

export interface DkimKey {
  domain: string
  selector: string
  /** PEM */
  privateKey: string
}

/** The environment has no line breaks everywhere: a PEM may have `\n` instead. */
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
    SMTP_URL: z.url({ protocol: /^smtps?$/, error: 'must be set to an smtp:// or smtps:// address' }),
    MAIL_RATE: z.coerce.number().positive().max(100_000).optional(),
    WORKER_HOST: z.string().default('127.0.0.1'),
    WORKER_PORT: port.optional(),
    WORKER_CONCURRENCY: z.coerce.number().int().min(1).max(1000).default(500),
    DKIM_DOMAIN: dnsName('must be a domain').optional(),
    DKIM_SELECTOR: dnsName('must be the name of a key in DNS').optional(),
    DKIM_PRIVATE_KEY: rsaKey.optional(),
  })
  .superRefine((environment, check) => {
    const missing = dkimNames.filter((name) => environment[name] === undefined)
    if (missing.length === dkimNames.length) return
    for (const name of missing) {
      check.addIssue({
        code: 'custom',
        path: [name],
        message: 'must be set too: a signature needs domain, selector and key',
      })
    }
  })
const dkimNames = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_PRIVATE_KEY'] as const

const MigrateEnvironment = z.object(commonVariables)

const ClientEnvironment = z.object({
  RAPPORT_API_URL: httpUrl.transform((url) => url.replace(/\/+$/, '')).optional(),
  RAPPORT_API_KEY: z.string().optional(),
})

type Environment = Record<string, string | undefined>

/** Reads what the API needs. Throws a ConfigError that names every wrong variable. */
export function readApiConfig(environment: Environment = process.env) {
  return parseEnvironment(ApiEnvironment, environment)
}
export type ApiConfig = ReturnType<typeof readApiConfig>

/** Reads what the worker needs. Throws a ConfigError that names every wrong variable. */
export function readWorkerConfig(environment: Environment = process.env) {
  return parseEnvironment(WorkerEnvironment, environment)
}
export type WorkerConfig = ReturnType<typeof readWorkerConfig>

/** The key that mails are signed with, if one is configured. */
export function dkimKeyOf(
  config: Pick<WorkerConfig, 'DKIM_DOMAIN' | 'DKIM_SELECTOR' | 'DKIM_PRIVATE_KEY'>,
): DkimKey | undefined {
  const { DKIM_DOMAIN: domain, DKIM_SELECTOR: selector, DKIM_PRIVATE_KEY: privateKey } = config
  return domain && selector && privateKey ? { domain, selector, privateKey } : undefined
}

/** Reads what a migration needs. Throws a ConfigError that names every wrong variable. */
export function readMigrateConfig(environment: Environment = process.env) {
  return parseEnvironment(MigrateEnvironment, environment)
}

/** Reads where the command line finds the API, and by which key. Throws a ConfigError that names every wrong variable. */
export function readClientConfig(environment: Environment = process.env) {
  return parseEnvironment(ClientEnvironment, environment)
}

/** What is good of an environment for API and worker, and what is wrong with the rest: for who looks into what fails. */
export function inspectEnvironment(environment: Environment): {
  config: Partial<ApiConfig & WorkerConfig>
  problems: { name: string; message: string }[]
} {
  const present = withoutEmpty(environment)
  const read = Object.entries({ ...ApiEnvironment.shape, ...WorkerEnvironment.shape }).map(
    ([name, schema]) => [name, schema.safeParse(present[name]).data] as const,
  )
  const issues = [ApiEnvironment, WorkerEnvironment].flatMap((schema) => schema.safeParse(present).error?.issues ?? [])
  const problems = new Map(issues.map(({ path: [name], message }) => [String(name), message]))
  return {
    config: Object.fromEntries(read.filter(([, value]) => value !== undefined)),
    problems: [...problems].map(([name, message]) => ({ name, message })),
  }
}

export interface VariableDescription {
  name: string
  readBy: string[]
  isRequired: boolean
  /** Undefined if the variable is required or has no default. */
  defaultValue: unknown
}

/** Describes every variable of the environment. The tables in README.md and .env.example are tested against it. */
export function describeVariables(): VariableDescription[] {
  const programs = Object.entries({
    API: ApiEnvironment,
    worker: WorkerEnvironment,
    migrate: MigrateEnvironment,
    CLI: ClientEnvironment,
  })
  const shapes = programs.flatMap(([program, { shape }]) =>
    Object.entries<z.ZodType>(shape).map(([name, schema]) => ({ program, name, schema })),
  )
  return [...Map.groupBy(shapes, ({ name }) => name)].map(([name, uses]) => {
    const results = uses.map(({ schema }) => schema.safeParse(undefined))
    return {
      name,
      readBy: uses.map(({ program }) => program),
      isRequired: results.some(({ success }) => !success),
      defaultValue: results.find(({ success }) => success)?.data,
    }
  })
}

/** The whole environment, for the programs that hand it on to processes they start. */
export function inheritedEnvironment(): Environment {
  return { ...process.env }
}

function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): Readonly<z.output<Schema>> {
  const result = schema.safeParse(withoutEmpty(environment))
  if (result.success) return Object.freeze(result.data)
  const problems = result.error.issues.map((issue) => `  ${String(issue.path[0])}: ${issue.message}`)
  throw new ConfigError(`The environment is not usable:\n${problems.join('\n')}`)
}

/** A variable that is set to nothing, as compose files do, counts as not set. */
function withoutEmpty(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
}
