/**
 * Words of mails from mail servers that have no format for machines, by language, with the source of each row. A report of a
 * delay and an automatic reply are no bounces.
 */
import { toNormalForm } from '../../kernel/values/text.ts'

interface WordRow {
  source: string
  words: readonly RegExp[]
}

const delayRows: readonly WordRow[] = [
  {
    source: 'English: Sendmail, Postfix, Exim, Gmail, Exchange, OpenSMTPD, Domino',
    words: [
      /\bdelay(?:ed)?\b/,
      /\bwarning\b/,
      /\bstill being retried\b/,
      /\bwill (?:be retried|keep trying|try again)\b/,
    ],
  },
  {
    source: 'English: Exim, Sendmail',
    words: [/\bnot yet been delivered\b/, /\bno action is required\b/, /\bdelivery attempts will continue\b/],
  },
  { source: 'German: Exchange, GMX, Telekom', words: [/verzöger/, /noch nicht zugestellt/, /weitere zustellversuche/] },
  { source: 'French: Exchange, Orange', words: [/\bretard/, /différé/, /pas encore été (?:remis|distribué)/] },
  { source: 'Spanish and Portuguese: Exchange', words: [/\bretras/, /\batras/, /\badiad/, /aplazad/] },
  { source: 'Italian: Exchange, Libero', words: [/\britard/, /non ancora consegnat/] },
  { source: 'Dutch, Swedish, Danish, Norwegian: Exchange', words: [/vertraag/, /försen/, /fördröj/, /forsink/] },
  { source: 'Polish, Czech, Russian, Turkish: Exchange', words: [/opóźn/, /zpožd/, /задерж/, /отложен/, /gecik/] },
  { source: 'Japanese, Chinese, Korean: Exchange', words: [/遅延|遅れ/, /延迟|延遲/, /지연/] },
]

const replyRows: readonly WordRow[] = [
  {
    source: 'English: Exchange, Gmail, vacation(1)',
    words: [
      /\bout of (?:the )?office\b/,
      /\bauto(?:matic|mated)?[ -]?(?:reply|response)\b/,
      /\baway from\b/,
      /\bon (?:vacation|holiday|leave)\b/,
    ],
  },
  {
    source: 'German: Exchange, Open-Xchange',
    words: [/abwesen/, /automatische (?:antwort|rückmeldung)/, /nicht im (?:büro|haus)/],
  },
  { source: 'French: Exchange', words: [/réponse automatique/, /absen(?:ce|t)\b/, /en congé/] },
  { source: 'Spanish: Exchange', words: [/respuesta automática/, /fuera de (?:la )?oficina/, /de vacaciones/] },
  { source: 'Italian: Exchange', words: [/risposta automatica/, /fuori (?:sede|ufficio)/, /\bin ferie\b/] },
  { source: 'Portuguese: Exchange', words: [/resposta automática/, /fora do escritório/, /de férias/] },
  { source: 'Dutch: Exchange', words: [/automatisch antwoord/, /afwezig/] },
  {
    source: 'Swedish, Danish, Norwegian, Finnish: Exchange',
    words: [/autosvar/, /frånvaro/, /fravær/, /automaattinen vastaus/],
  },
  {
    source: 'Polish, Czech: Exchange',
    words: [/automatyczna odpowiedź/, /nieobecn/, /automatická odpověď/, /nepřítomn/],
  },
  { source: 'Russian, Ukrainian, Turkish: Exchange', words: [/автоматический ответ/, /автоответ/, /otomatik yanıt/] },
  {
    source: 'Japanese, Chinese, Korean: Exchange',
    words: [/自動(?:応答|返信)/, /不在/, /自动(?:答复|回复)/, /自動(?:回覆|答覆)/, /자동 회신/],
  },
]

const failureRows: readonly WordRow[] = [
  {
    source: 'English: RFC 3464, Sendmail, Exchange, MDaemon, OpenSMTPD, Verizon',
    words: [
      /undeliver/,
      /\breturned\b/,
      /\bfail(?:ed|ure)\b/,
      /did not reach/,
      /(?:not be|unable to|cannot be|cannot) deliver/,
    ],
  },
  {
    source: 'English: OpenSMTPD, IMail, Open-Xchange',
    words: [/an error (?:has )?occurred/, /permanent(?:ly)? (?:error|fatal)/, /message expired/],
  },
  {
    source: 'German: Exchange, GMX, Telekom',
    words: [/unzustellbar/, /nicht zugestellt werden/, /zustellung fehlgeschlagen/],
  },
  {
    source: 'French: Exchange, Orange',
    words: [/non remis/, /échec/, /(?:pas pu|impossible de) (?:être )?(?:remis|remettre|distribu)/],
  },
  {
    source: 'Spanish and Portuguese: Exchange',
    words: [
      /no se (?:ha )?p(?:udo|odido) entregar/,
      /no entregad/,
      /não (?:foi possível )?entreg/,
      /não pôde ser entregue/,
    ],
  },
  {
    source: 'Italian: Exchange, Libero',
    words: [/mancato recapito/, /non (?:è stato )?(?:consegnat|recapitat)/, /impossibile (?:recapitare|consegnare)/],
  },
  {
    source: 'Dutch, Polish, Russian: Exchange, Mail.ru',
    words: [
      /onbestelbaar/,
      /niet (?:worden )?(?:bezorgd|afgeleverd)/,
      /niedostarcz/,
      /не может быть доставлено/,
      /не доставлено/,
    ],
  },
  {
    source: 'Japanese and Chinese: Exchange, NTT, KDDI',
    words: [/配信(?:不能|できません|エラー)/, /送信できません/, /メールエラー/, /退信/, /无法投递/],
  },
]

const maxLength = 4_000

const toTest = (rows: readonly WordRow[]) => {
  const patterns = rows.flatMap(({ words }) => words)
  return (text: string): boolean => {
    const words = toNormalForm(text.slice(0, maxLength)).toLowerCase()
    return patterns.some((pattern) => pattern.test(words))
  }
}

export const isDelay = toTest(delayRows)
export const isAutomaticReply = toTest(replyRows)
export const saysUndelivered = toTest(failureRows)
