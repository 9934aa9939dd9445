import { expect, test } from 'vitest'
import { toMailName } from './mail-names.ts'

test.each([
  ['Analytical Engines', 'Analytical Engines'],
  ['Bücher & Söhne, Inc.', 'Bücher & Söhne, Inc.'],
  ['Acme.com', 'Acme com'],
  ['Win: https://evil.example/x?a=b', 'Win: evil example/x?a=b'],
  ['//evil.example', 'evil example'],
  ['ceo@bank.example', 'ceo at bank example'],
  ['evil。example', 'evil example'],
  ['evil.\u200bexample', 'evil example'],
  ['evil\u202e.example', 'evil example'],
  ['hxxp://evil.example HTTPS://EVIL.EXAMPLE', 'evil example EVIL EXAMPLE'],
  ['a'.repeat(150), `${'a'.repeat(100)}…`],
  [`a${'🦉'.repeat(150)}`, `a${'🦉'.repeat(49)}…`],
])('%j appears in emails as %j', (name, expected) => {
  expect(toMailName(name)).toBe(expected)
})
