import type { FormTexts } from './en.ts'

export const it: FormTexts = {
  thanks: 'Grazie.',
  emptyBox: 'Selezioni questa casella.',
  empty: 'Compili questo campo.',
  line: (maxLength) => `Inserisca una sola riga di al massimo ${maxLength} caratteri.`,
  text: (maxLength) => `Inserisca al massimo ${maxLength} caratteri.`,
  email: 'Inserisca un indirizzo email, ad esempio ada@example.com.',
  phone: 'Inserisca un numero di telefono, ad esempio +44 20 7946 0958.',
  number: 'Inserisca un numero di al massimo 15 cifre.',
  date: 'Inserisca una data in questo formato: 2026-11-21.',
  option: 'Selezioni una delle opzioni.',
  box: 'Selezioni o deselezioni questa casella.',
  tooLarge: 'Abbrevi le Sue risposte. In totale possono avere al massimo circa 32.000 caratteri.',
}
