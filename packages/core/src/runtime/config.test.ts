import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  ConfigError,
  dkimKeyOf,
  inspectEnvironment,
  readApiConfig,
  readMigrateConfig,
  readWorkerConfig,
} from './config.ts'

const shared = {
  DATABASE_URL: 'postgres://localhost/rapport',
  PUBLIC_URL: 'https://crm.example.com/',
  SECRET_KEY: 'V2hvIHJlYWRzIHRoaXMgaGFzIGdvb2QgZXllcw==',
  MAIL_FROM: 'mail@example.com',
}
const forWorker = { ...shared, SMTP_URL: 'smtp://localhost:1025' }
const problemsOf = (read: () => unknown) => {
  try {
    read()
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    const [title, ...problems] = (error as Error).message.split('\n')
    expect(title).toBe('Invalid configuration:')
    return problems.map((line) => line.trim().split(':')[0])
  }
}

test('an empty environment is rejected with every required variable', () => {
  expect(problemsOf(() => readApiConfig({}))).toEqual(['DATABASE_URL', 'PUBLIC_URL', 'SECRET_KEY', 'MAIL_FROM'])
  const forWorker = ['DATABASE_URL', 'PUBLIC_URL', 'SECRET_KEY', 'MAIL_FROM', 'SMTP_URL']
  expect(problemsOf(() => readWorkerConfig({}))).toEqual(forWorker)
  expect(problemsOf(() => readMigrateConfig({}))).toEqual(['DATABASE_URL'])
})

test('an error names every invalid variable and shows no value', () => {
  const wrong = {
    DATABASE_URL: 'mysql://root:hunter22@x',
    DATABASE_DIRECT_URL: 'hunter22',
    REDIS_URL: 'http://x',
    PUBLIC_URL: 'crm',
    SECRET_KEY: 'hunter22',
    MAIL_FROM: 'no-address',
    SMTP_URL: 'hunter22',
    MAIL_RATE: '0',
    WORKER_CONCURRENCY: 'many',
    LOG_LEVEL: 'loud',
    PORT: '99999',
    TRUST_PROXY: 'yes',
    CORS_ORIGINS: 'x',
    DASHBOARD_PASSWORD: 'hunter2',
    WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8, everything',
    MAIL_FROM_DOMAINS: 'example.com, ada@example.com',
    SIGN_UP: 'no',
    WORKER_PORT: '-1',
    METRICS_TOKEN: 'hunter22 hunter22',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_TRACES_SAMPLER_ARG: '10%',
    SHUTDOWN_DELAY_MS: '-5',
  }
  expect(
    problemsOf(() => readWorkerConfig(wrong))
      .join()
      .split(',')
      .toSorted(),
  ).toEqual(
    [
      ['DATABASE_DIRECT_URL', 'DATABASE_URL', 'LOG_LEVEL', 'MAIL_FROM', 'MAIL_RATE', 'PUBLIC_URL', 'REDIS_URL'],
      ['SECRET_KEY', 'SMTP_URL', 'MAIL_FROM_DOMAINS', 'SIGN_UP'],
      ['METRICS_TOKEN', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_SAMPLER_ARG'],
      ['WEBHOOK_ALLOWED_NETWORKS', 'WORKER_CONCURRENCY', 'WORKER_PORT'],
    ]
      .flat()
      .toSorted(),
  )
  expect(problemsOf(() => readApiConfig(wrong))).toEqual(
    expect.arrayContaining(['PORT', 'TRUST_PROXY', 'CORS_ORIGINS', 'DASHBOARD_PASSWORD', 'SHUTDOWN_DELAY_MS']),
  )
  expect(() => readApiConfig(wrong)).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
  )
})

test('by default any domain may send mail and signup is open', () => {
  expect(readApiConfig(shared)).toMatchObject({ MAIL_FROM_DOMAINS: [], SIGN_UP: 'open' })
  const strict = { ...shared, MAIL_FROM_DOMAINS: 'Example.com, news.example.org', SIGN_UP: 'closed' }
  expect(readApiConfig(strict)).toMatchObject({
    MAIL_FROM_DOMAINS: ['example.com', 'news.example.org'],
    SIGN_UP: 'closed',
  })
})

test('an empty variable counts as unset', () => {
  const config = readApiConfig({
    ...shared,
    REDIS_URL: '',
    PORT: '',
    DASHBOARD_PASSWORD: '',
    TRUST_PROXY: '',
    HOST: '',
  })
  expect(config).toMatchObject({ PORT: 3000, HOST: '127.0.0.1', TRUST_PROXY: [] })
  expect(config).not.toHaveProperty('REDIS_URL')
  expect(config).not.toHaveProperty('DASHBOARD_PASSWORD')
  expect(problemsOf(() => readApiConfig({ ...shared, SECRET_KEY: '' }))).toEqual(['SECRET_KEY'])
})

test('defaults are safe: no trusted proxy, private network, CORS origin or dashboard', () => {
  const config = readApiConfig(shared)
  expect(config).toMatchObject({ TRUST_PROXY: [], WEBHOOK_ALLOWED_NETWORKS: [], CORS_ORIGINS: [], HOST: '127.0.0.1' })
  expect(config.DASHBOARD_PASSWORD).toBeUndefined()
  expect(config.REDIS_URL).toBeUndefined()
})

test.each([
  ['PUBLIC_URL', 'https://crm.example.com/?team=1'],
  ['PUBLIC_URL', 'https://crm.example.com/#crm'],
  ['DASHBOARD_USER', 'ops:team'],
])('a value of %s that could not work is rejected: %s', (name, value) => {
  expect(problemsOf(() => readApiConfig({ ...shared, [name]: value }))).toEqual([name])
})

test('emails are kept for at least 30 days, or for ever', () => {
  const read = (days: string) => readWorkerConfig({ ...forWorker, RETENTION_EMAILS_DAYS: days }).RETENTION_EMAILS_DAYS
  expect(['0', '30', '36500'].map(read)).toEqual([0, 30, 36_500])
  for (const days of ['1', '29', '-1', '30.5', '36501'])
    expect(() => read(days)).toThrow(
      /RETENTION_EMAILS_DAYS: must be a whole number of days from 30 to 36500; 0 to keep/,
    )
})

test('the mailbox of bounces needs a user and a password', () => {
  const read = (url: string) => problemsOf(() => readWorkerConfig({ ...forWorker, BOUNCE_IMAP_URL: url }))
  expect(read('imaps://bounces@mail.example.com')).toEqual(['BOUNCE_IMAP_URL'])
  expect(read('imaps://bounces:secret@mail.example.com')).toEqual([])
})

test('PUBLIC_URL loses its trailing slash', () => {
  expect(readApiConfig(shared).PUBLIC_URL).toBe('https://crm.example.com')
})

test('a value in quotation marks is named: docker --env-file keeps them', () => {
  const quoted = { ...shared, PUBLIC_URL: '"https://crm.example.com"', SECRET_KEY: `'${shared.SECRET_KEY}'` }
  expect(() => readApiConfig(quoted)).toThrow(
    /^Invalid configuration:\n {2}\S+: remove the quotation marks.*\n {2}\S+: remove the/,
  )
  expect(() => readApiConfig(quoted)).toThrow('SECRET_KEY: remove the quotation marks')
})

test('an inspection has each problem with which a program exits, without the value', () => {
  const environment = { ...forWorker, METRICS_TOKEN: "'0123456789abcdef'", BACKUP_KEY: 'hunter22', PORT: '' }
  const { config, problems } = inspectEnvironment(environment)
  expect(problems).toEqual([
    { name: 'METRICS_TOKEN', message: expect.stringContaining('remove the quotation marks') },
    { name: 'BACKUP_KEY', message: expect.stringContaining('must be 32 random bytes') },
  ])
  expect(config).toMatchObject({ PORT: 3000, MAIL_FROM: 'mail@example.com' })
  expect(config).not.toHaveProperty('METRICS_TOKEN')
  expect(inspectEnvironment(forWorker).problems).toEqual([])
})

test('a configuration is frozen', () => {
  expect(Object.isFrozen(readWorkerConfig(forWorker))).toBe(true)
})

describe('SECRET_KEY', () => {
  test.each(['change-me-change-me-change-me-change-me', 'changeme'.repeat(8), 'Secret'.repeat(8), 'short'])(
    'rejects "%s", which is an example or too short',
    (key) => {
      expect(problemsOf(() => readApiConfig({ ...shared, SECRET_KEY: key }))).toEqual(['SECRET_KEY'])
    },
  )
})

describe('TRUST_PROXY', () => {
  test.each(
    [
      [
        'true',
        'false',
        '1',
        '2',
        '0',
        'all',
        '*',
        '1,2',
        'loopback,true',
        '10/8',
        '10.1/16',
        '0x7f000001',
        '2130706433',
      ],
      ['010.0.0.1', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '/8', '::/129', 'fe80::1%eth0', 'proxy.example.com'],
    ].flat(),
  )('rejects "%s", which is ambiguous or would let a client forge its address', (value) => {
    expect(problemsOf(() => readApiConfig({ ...shared, TRUST_PROXY: value }))).not.toEqual([])
  })

  test('accepts names and networks, and a single address as a network', () => {
    const value = 'loopback, 10.0.0.0/8 ,192.0.2.7,2001:db8::1,fd00::/8,'
    expect(readApiConfig({ ...shared, TRUST_PROXY: value }).TRUST_PROXY).toEqual(
      [['loopback', '10.0.0.0/8', '192.0.2.7/32', '2001:db8::1/128', 'fd00::/8']].flat(),
    )
  })
})

describe('numbers', () => {
  test.each(['0', '-1', '1.5', '1001', 'NaN', 'Infinity', '1e9', ' '])('rejects WORKER_CONCURRENCY "%s"', (value) => {
    expect(problemsOf(() => readWorkerConfig({ ...forWorker, WORKER_CONCURRENCY: value }))).toEqual([
      'WORKER_CONCURRENCY',
    ])
  })

  test.each(['0', '-1', 'fast', 'NaN', 'Infinity', '1000000'])('rejects MAIL_RATE "%s"', (value) => {
    expect(problemsOf(() => readWorkerConfig({ ...forWorker, MAIL_RATE: value }))).toEqual(['MAIL_RATE'])
  })

  test('MAIL_RATE may be a fraction and is unlimited by default', () => {
    expect(readWorkerConfig({ ...forWorker, MAIL_RATE: '0.5' }).MAIL_RATE).toBe(0.5)
    expect(readWorkerConfig(forWorker).MAIL_RATE).toBeUndefined()
  })
})

describe('the DKIM key', () => {
  const pem = (type: 'rsa' | 'ed25519', modulusLength = 2048) =>
    (type === 'rsa' ? generateKeyPairSync('rsa', { modulusLength }) : generateKeyPairSync('ed25519')).privateKey.export(
      { type: 'pkcs8', format: 'pem' },
    )
  const dkim = { DKIM_DOMAIN: 'example.com', DKIM_SELECTOR: 'mail', DKIM_PRIVATE_KEY: pem('rsa') }

  test('is optional, and may have \\n instead of line breaks', () => {
    expect(dkimKeyOf(readWorkerConfig(forWorker))).toBeUndefined()
    const onOneLine = { ...dkim, DKIM_PRIVATE_KEY: dkim.DKIM_PRIVATE_KEY.replaceAll('\n', '\\n') }
    for (const given of [dkim, onOneLine]) {
      expect(dkimKeyOf(readWorkerConfig({ ...forWorker, ...given }))).toEqual({
        domain: 'example.com',
        selector: 'mail',
        privateKey: dkim.DKIM_PRIVATE_KEY,
      })
    }
  })

  test('requires a domain, a selector and a valid RSA key', () => {
    const problems = (given: Record<string, string>) => problemsOf(() => readWorkerConfig({ ...forWorker, ...given }))
    expect(problems({ DKIM_PRIVATE_KEY: dkim.DKIM_PRIVATE_KEY })).toEqual(['DKIM_DOMAIN', 'DKIM_SELECTOR'])
    expect(problems({ DKIM_DOMAIN: 'example.com' })).toEqual(['DKIM_SELECTOR', 'DKIM_PRIVATE_KEY'])
    for (const wrong of [
      'secret',
      '-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----',
      pem('ed25519'),
      pem('rsa', 512),
    ]) {
      expect(problems({ ...dkim, DKIM_PRIVATE_KEY: wrong })).toEqual(['DKIM_PRIVATE_KEY'])
    }
    expect(problems({ ...dkim, DKIM_DOMAIN: 'example.com; x=1' })).toEqual(['DKIM_DOMAIN'])
  })
})
