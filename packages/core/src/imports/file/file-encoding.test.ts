import { expect, test } from 'vitest'
import { decode, type Encoding, findEncoding, requireUtf8 } from './file-encoding.ts'

test.each([
  ['UTF8', 'utf-8'],
  ['utf-8', 'utf-8'],
  ['us-ascii', 'utf-8'],
  ['ISO-8859-1', 'windows-1252'],
  ['latin1', 'windows-1252'],
  ['cp1252', 'windows-1252'],
  ['utf-16le', undefined],
  ['shift_jis', undefined],
  ['nonsense', undefined],
])('the label %s means %s', (label, encoding) => {
  expect(findEncoding(label)).toBe(encoding)
})

async function read(pieces: readonly Buffer[], encoding?: Encoding): Promise<string> {
  const parts = []
  const file = (async function* () {
    yield* pieces
  })()
  for await (const part of requireUtf8(decode(file, encoding))) parts.push(part)
  return Buffer.concat(parts).toString()
}

test('windows-1252 is converted, its own characters included', async () => {
  // The bytes 80 to 9f differ from ISO 8859-1.
  expect(await read([Buffer.from('80939499e9', 'hex'), Buffer.from('df', 'hex')], 'windows-1252')).toBe('€“”™éß')
})

test('a character may be divided by the end of a part', async () => {
  const bytes = Buffer.from('Zoë 🦄')
  for (let end = 1; end < bytes.length; end++)
    expect(await read([bytes.subarray(0, end), bytes.subarray(end)])).toBe('Zoë 🦄')
})

const hint = 'save it as "CSV UTF-8", or send encoding=windows-1252 if it has this encoding'

test.each([
  ['the first part', [Buffer.from('email\r\nada\rZoë!\n', 'latin1')], 'line 3'],
  ['a later part', [Buffer.from('email\n'), Buffer.from('Zoë!', 'latin1')], 'after byte 6'],
  ['the end of the file', [Buffer.from('email\n'), Buffer.from('Zoë').subarray(0, 3)], 'after byte 9'],
])('a wrong byte in %s is an error with its place', async (_name, pieces, place) => {
  await expect(read(pieces)).rejects.toThrow(`The file is not valid UTF-8 (${place}): ${hint}`)
})
