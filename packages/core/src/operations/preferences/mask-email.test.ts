import { expect, test } from 'vitest'
import { maskEmail } from './mask-email.ts'

test.each([
  ['ada@example.com', 'a•••@e••••.com'],
  ['a@b.co', 'a•••@b••••.co'],
  ['ada.lovelace@mail.example.co.uk', 'a•••@m••••.uk'],
  ['"a@b"@example.com', '"•••@e••••.com'],
  ['𝒶da@localhost', '𝒶•••@l••••'],
])('%s is shown as %s, whatever its length', (email, masked) => {
  expect(maskEmail(email)).toBe(masked)
})
