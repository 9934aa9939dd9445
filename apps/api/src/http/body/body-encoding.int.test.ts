import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const send = (headers: Record<string, string>) =>
  api.call('POST', '/contacts', { key: workspace.key, body: { email: freshEmail(), firstName: 'Zoë' }, headers })

test.each([
  'application/json',
  'Application/JSON ; charset=utf-8',
  'application/json;charset="UTF-8"',
  'application/json; charset=utf8',
  'application/json; Charset="Utf8"; profile=x',
  "application/json; charset='utf-8'",
  'application/json; charset=unicode-1-1-utf-8',
  'application/json; charset=us-ascii',
  'application/json; charset=ANSI_X3.4-1968',
  'application/json; charset=',
  'application/json;',
])('%s is JSON in UTF-8', async (type) => {
  expect(await send({ 'content-type': type })).toMatchObject({ status: 201, body: { firstName: 'Zoë' } })
})

test.each(['utf-16', 'utf-16le', '"ISO-8859-1"', 'windows-1252', 'x-unknown'])(
  'a 415 names the charset %s',
  async (charset) => {
    const response = await send({ 'content-type': `application/json; charset=${charset}` })
    expectError(response, 415, `The charset must be utf-8, not "${charset.replaceAll('"', '')}"`)
  },
)

test.each(['Identity', 'identity, IDENTITY', ''])('the content encoding "%s" changes nothing', async (encoding) => {
  expect(await send({ 'content-encoding': encoding })).toMatchObject({ status: 201, body: { firstName: 'Zoë' } })
})

test.each([
  ['gzip', 'gzip'],
  ['identity, Deflate', 'Deflate'],
  ['br,identity', 'br'],
])('a 415 names what is wrong with the content encoding %s', async (encoding, name) => {
  const response = await send({ 'content-encoding': encoding })
  expectError(response, 415, `The content encoding must be identity, not "${name}": send the body uncompressed`)
  expect(response.headers['accept-encoding']).toBe('identity')
})
