import type { Translations } from '../../kernel/values/languages.ts'
import { de } from './de.ts'
import { en, type MailTexts } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { it } from './it.ts'
import { pt } from './pt.ts'

export const mailTexts: Translations<MailTexts> = { en, de, fr, es, it, pt }
