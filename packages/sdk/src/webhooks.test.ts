import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { useFakeTime } from '../test/fake-fetch.ts'
import { WebhookSignatureError } from './errors.ts'
import { Rapport } from './rapport.ts'
import { unwrapWebhook } from './webhooks.ts'

const now = new Date('2026-11-23T12:00:00Z')
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const otherSecret = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const event = { id: 'evt_1', type: 'contact.created', timestamp: now.toISOString(), data: { firstName: 'Ådá 名前 😀' } }
const body = JSON.stringify(event)

beforeEach(() => useFakeTime(now))
afterEach(() => {
  vi.useRealTimers()
})

/** The headers that the official library writes. */
function sign(text = body, key = secret, at = now): Record<string, string> {
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(key).sign('evt_1', at, text),
  }
}
const headers = () => sign()
const secondsFromNow = (seconds: number) => new Date(now.getTime() + seconds * 1_000)

describe('a valid request', () => {
  test('is the event, from a text, bytes, a Buffer or an ArrayBuffer', async () => {
    const bytes = new TextEncoder().encode(body)
    for (const received of [body, bytes, Buffer.from(body), bytes.buffer])
      expect(await unwrapWebhook(received, headers(), secret)).toEqual(event)
    const rapport = new Rapport({ baseUrl: 'https://crm.example' })
    expect(await rapport.webhooks.unwrap(body, headers(), secret)).toEqual(event)
  })

  test('may have its headers in any form that a server has them', async () => {
    const signed = headers()
    const lists = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name, [value]]))
    class OwnHeaders {
      get = (name: string) => signed[name] ?? null
    }
    const upper = Object.fromEntries(Object.entries(signed).map(([name, value]) => [name.toUpperCase(), value]))
    const forms = [
      new Headers(signed),
      lists,
      upper,
      { ...signed, accept: undefined },
      new OwnHeaders() as unknown as Headers,
      new Map(Object.entries(upper)),
      Object.entries(lists).map(([name, value]): [string, string[]] => [name.replace('webhook', 'WebHook'), value]),
      { ...upper, get: 'a header named get' },
    ]
    const pairs = Object.entries(upper)
    const iterators = [
      pairs[Symbol.iterator](),
      new Map(pairs).entries(),
      new Headers(signed).entries(),
      (function* () {
        yield* pairs
      })(),
    ]
    for (const form of [...forms, ...iterators]) expect(await unwrapWebhook(body, form, secret)).toEqual(event)
  })

  test('may have several signatures, of which one matches', async () => {
    const [wrong, right] = [sign(body, otherSecret), headers()].map((each) => each['webhook-signature'])
    const garbage = 'v1 v1, v1,??? v2,AAAA v1a,AAAA ,,, v1,😀'
    for (const signatures of [`${wrong} ${right}`, `${right} ${wrong}`, `${garbage} ${right}`, ` ${right} `])
      expect(await unwrapWebhook(body, { ...headers(), 'webhook-signature': signatures }, secret)).toEqual(event)
  })

  test('may be verified with several secrets, and with one that has no prefix', async () => {
    for (const secrets of [[otherSecret, secret], [secret, otherSecret], secret.replace('whsec_', '')])
      expect(await unwrapWebhook(body, headers(), secrets)).toEqual(event)
  })

  test.each([-300, -299, 0, 299, 300])('may be %s seconds from now', async (seconds) => {
    expect(await unwrapWebhook(body, sign(body, secret, secondsFromNow(seconds)), secret)).toEqual(event)
  })

  test('may be older if the tolerance says so', async () => {
    const old = sign(body, secret, secondsFromNow(-3_600))
    expect(await unwrapWebhook(body, old, secret, { toleranceSeconds: 3_600 })).toEqual(event)
    expect(await unwrapWebhook(body, old, secret, { toleranceSeconds: Number.POSITIVE_INFINITY })).toEqual(event)
  })
})

describe('a WebhookSignatureError is thrown', () => {
  const expectRejected = async (error: Promise<unknown>, message: string) => {
    await expect(error).rejects.toBeInstanceOf(WebhookSignatureError)
    await expect(error).rejects.toThrow(message)
  }
  const noMatch = 'no signature matches'

  test('for another secret and a forged body', async () => {
    await expectRejected(unwrapWebhook(body, headers(), otherSecret), noMatch)
    await expectRejected(unwrapWebhook(body.replace('created', 'deleted'), headers(), secret), noMatch)
    await expectRejected(unwrapWebhook(`${body} `, headers(), secret), noMatch)
    await expectRejected(unwrapWebhook('', headers(), secret), noMatch)
  })

  test('for each flipped bit of the body', async () => {
    for (let at = 0; at < body.length; at += 7) {
      const flipped = Buffer.from(body)
      flipped[at] = (flipped[at] ?? 0) ^ 1
      await expectRejected(unwrapWebhook(flipped, headers(), secret), noMatch)
    }
  })

  test('for the headers of another request', async () => {
    await expectRejected(unwrapWebhook(body, { ...headers(), 'webhook-id': 'evt_2' }, secret), noMatch)
    const later = { 'webhook-timestamp': sign(body, secret, secondsFromNow(1))['webhook-timestamp'] }
    await expectRejected(unwrapWebhook(body, { ...headers(), ...later }, secret), noMatch)
  })

  test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('if %s is missing', async (name) => {
    for (const value of [undefined, '', []])
      await expectRejected(
        unwrapWebhook(body, { ...headers(), [name]: value }, secret),
        `${name}: the header is missing`,
      )
    const without = new Headers(headers())
    without.delete(name)
    await expectRejected(unwrapWebhook(body, without, secret), `${name}: the header is missing`)
  })

  test.each([-301, 301, -86_400])('for a timestamp that is %s seconds from now', async (seconds) => {
    const signed = sign(body, secret, secondsFromNow(seconds))
    await expectRejected(unwrapWebhook(body, signed, secret), 'is not within 300 s of now')
    const tolerance = { toleranceSeconds: Number.NaN }
    await expectRejected(unwrapWebhook(body, signed, secret, tolerance), 'is not within NaN s of now')
  })

  test.each(['now', '-1', '1e9', '0x1', '12.5', ' ', '9'.repeat(400)])('for the timestamp "%s"', async (timestamp) => {
    const forged = { ...headers(), 'webhook-timestamp': timestamp }
    await expectRejected(unwrapWebhook(body, forged, secret), 'webhook-timestamp:')
  })

  test.each(['v1', 'v1,', 'v1,?', 'v1,AAAA', 'v2,AAAA', ',', ',,,', 'v1,\uD800', `v1,${'A'.repeat(10_000)}`])(
    'for the signature "%.20s"',
    async (signature) => {
      const forged = { ...headers(), 'webhook-signature': signature }
      await expectRejected(unwrapWebhook(body, forged, secret), noMatch)
    },
  )
})

describe('a TypeError is thrown, as the program is wrong and not the request', () => {
  test.each(['', 'whsec_', 'whsec_?', 'not base64!', 'whsec_AAAAA'])('for the secret "%s"', async (wrong) => {
    for (const secrets of [wrong, [secret, wrong]])
      await expect(unwrapWebhook(body, headers(), secrets)).rejects.toThrow('secret: must be the secret of a webhook')
  })

  test('without a secret', async () => {
    await expect(unwrapWebhook(body, headers(), [])).rejects.toThrow('secret: is required')
    await expect(unwrapWebhook(body, headers(), undefined as never)).rejects.toThrow('secret: must be')
  })

  test('for a body that was parsed', async () => {
    const parsed = event as unknown as string
    await expect(unwrapWebhook(parsed, headers(), secret)).rejects.toThrow('body: must be the text or the bytes')
  })
})
