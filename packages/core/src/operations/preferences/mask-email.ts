/**
 * Hides most of an address, so that only its owner recognizes it: `a•••@e••••.com`. The number of dots is always the
 * same.
 */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  const [local, domain] = [email.slice(0, at), email.slice(at + 1)]
  const [, ending = ''] = /.(\.[^.]+)$/.exec(domain) ?? []
  return `${firstCharacter(local)}•••@${firstCharacter(domain)}••••${ending}`
}

const firstCharacter = ([character = '']: string) => character
