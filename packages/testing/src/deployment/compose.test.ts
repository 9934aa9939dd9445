/** `docker-compose.yml` is fit for production as it is. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { repositoryTexts, root } from '../conventions/repository-texts.ts'
import { composeText, readComposeServices } from './compose-file.ts'

const required = {
  SECRET_KEY: 'secret',
  POSTGRES_PASSWORD: 'pg',
  REDIS_PASSWORD: 'redis',
  PUBLIC_URL: 'https://crm.example.com',
  MAIL_FROM: 'hello@example.com',
  SMTP_URL: 'smtps://mail.example.com',
}
const services = readComposeServices(required)
const isOurs = ({ image }: { image: string }) => image === 'rapport'
const ours = Object.entries(services).filter(([, service]) => isOurs(service))

test('the linter finds no error', async () => {
  const linter = join(root, 'packages/testing/node_modules/.bin/dclint')
  const { stdout } = await promisify(execFile)(linter, ['--quiet', join(root, 'docker-compose.yml')])
  expect(stdout.trim()).toBe('')
})

test.each(Object.keys(required))('without %s the start fails and names it', (name) => {
  const start = () => readComposeServices({ ...required, [name]: '' })
  expect(start).toThrow(`required variable ${name} is missing a value: set it in .env`)
})

test('programs get every other variable from .env', () => {
  // Those that the file sets to a value of its own, because they describe the inside of the container.
  const fixed = ['HOST', 'PORT', 'WORKER_HOST', 'WORKER_PORT', 'BOUNCE_HOST', 'BACKUP_DIRECTORY']
  for (const [, { env_file, environment }] of ours) {
    expect(env_file).toEqual([{ path: '.env', required: false }])
    const set = Object.keys(environment).filter((name) => !fixed.includes(name))
    const mine = Object.fromEntries(set.map((name) => [name, `mine://${name}`]))
    const services = readComposeServices({ ...required, ...mine })
    expect(services['api-3001']?.environment).toMatchObject(mine)
  }
})

test('the database and the queues are those of the file unless .env has others', () => {
  expect(services['worker-3101']?.environment).toMatchObject({
    DATABASE_URL: 'postgres://rapport:pg@postgres:5432/rapport',
    REDIS_URL: 'redis://:redis@redis:6379',
    SMTP_URL: 'smtps://mail.example.com',
  })
})

test('the mail catcher starts only with a profile', () => {
  expect(services['mail']?.profiles).toEqual(['demo'])
  const isDefault = Object.entries(services).filter(([, { profiles }]) => profiles === undefined)
  expect(isDefault.map(([name]) => name)).not.toContain('mail')
})

test('no password is in the file', () => {
  expect(composeText.match(/PASSWORD: (?!\$\{)\S+/g)).toBeNull()
  expect(composeText.match(/:\/\/\w*:(?!\$\{)[^@\s]+@/g)).toEqual(['://user:password@'])
})

test('every container has a memory limit and no rights that it does not need', () => {
  for (const [name, service] of Object.entries(services)) {
    expect([name, service]).toEqual([
      name,
      expect.objectContaining({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
      }),
    ])
    expect(service).not.toHaveProperty('privileged')
  }
})

test('every port is published on the loopback interface only', () => {
  const ports = Object.values(services).flatMap((service) => service.ports ?? [])
  expect(ports.length).toBeGreaterThan(3)
  for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
  expect(services['postgres']).not.toHaveProperty('ports')
  expect(services['redis']).not.toHaveProperty('ports')
})

test('the documented doctor of containers runs in a worker, where BOUNCE_PORT is', () => {
  const documented = repositoryTexts
    .filter(({ path }) => /^(docs|ops)\//.test(path))
    .flatMap(({ text }) => text.match(/(?:compose exec |exec deploy\/).{1,60}? rapport (?:doctor|…)/g) ?? [])
  expect(documented.length).toBeGreaterThan(5)
  expect(documented.filter((command) => !command.includes('worker'))).toEqual([])
})
