import type { BounceClass } from './bounce.schema.ts'
import { classOfCode, isBareCode } from './bounce-codes.ts'
import { classOfWords } from './class-of-words.ts'

/** A bounce as stored and as events show it. `code` is an enhanced status code, or the SMTP code if there is none. */
export interface Bounce {
  class: BounceClass
  code: string | null
}

/** What a server or a delivery report said. `text` is the response of the server, which may contain the codes. */
export interface BounceFacts {
  enhancedCode?: string | null | undefined
  smtpCode?: number | null | undefined
  text?: string | null | undefined
  /** The class by the word of a provider, for a response without an exact code. */
  otherwise?: BounceClass | undefined
}

/**
 * Gives a bounce its class: by the code in the response that it quotes, else by the code that the report states
 * (`bounce-codes.ts`). Words of the response make the class milder, and only a refusal of the recipient without an exact
 * code becomes HARD by them (`bounce-words.ts`).
 */
export function classifyBounce(facts: BounceFacts): Bounce {
  const text = facts.text ?? ''
  const stated = parseCode(facts.enhancedCode ?? '')
  const quoted = findQuotedCode(text)
  const smtpCode = facts.smtpCode ?? findSmtpCode(text)
  const enhanced = selectCode(quoted, stated)
  const code = enhanced ?? smtpCode?.toString() ?? null
  const words = classOfWords(text, enhanced)
  const isTemporary = (smtpCode ?? 500) < 500 || enhanced?.startsWith('4.') === true
  const isExact = enhanced !== undefined && !isBareCode(enhanced)
  const byCode = isTemporary ? 'SOFT' : isExact ? classOfCode(enhanced) : (facts.otherwise ?? 'SOFT')
  if (words !== 'HARD') return { class: toMilder(byCode, words), code }
  const isBare = quoted === undefined ? smtpCode !== undefined || !isExact : isBareCode(quoted)
  const isHardened = code !== null && isBare && !isTemporary && facts.otherwise === undefined && !isAfterData(text)
  return { class: isHardened ? 'HARD' : byCode, code }
}

const severity: Readonly<Record<BounceClass, number>> = { HARD: 2, SOFT: 1, MESSAGE: 0, POLICY: 0 }
const toMilder = (one: BounceClass, other = one) => (severity[other] < severity[one] ? other : one)

/** A server that refuses the message itself refuses it for everybody: Postfix, Exim and Sendmail quote the command. */
const isAfterData = (text: string) =>
  /in reply to (?:end of )?data|(?:end of|after) data\b|\bto data command/i.test(text)

/** The quoted code comes first, unless it has no details while the stated one has. */
const selectCode = (quoted: string | undefined, stated: string | undefined) =>
  quoted === undefined || (stated !== undefined && quoted.endsWith('.0.0')) ? (stated ?? quoted) : quoted

/** Some servers write the SMTP code, or a sign, before it. */
const parseCode = (text: string) => /^[\s#"]*(?:[45]\d\d[ -])?([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)/.exec(text)?.[1]

/** A code at the start of a line, after an SMTP code, or after a sign such as `#`: not a part of an address or a version. */
const quotedCode = /(?:^|[#([]|[:;=]\s*|\b[45]\d\d[ -])([45]\.\d{1,3}\.\d{1,3})(?!\.?\d)/m
const findQuotedCode = (text: string) => quotedCode.exec(text)?.[1]

/** The code at the start of a response, or of a line of it. */
function findSmtpCode(text: string): number | undefined {
  const [, code] = /(?:^|[\s:;])([45]\d\d)(?=[\s:-])/.exec(text) ?? []
  return code === undefined ? undefined : Number(code)
}
