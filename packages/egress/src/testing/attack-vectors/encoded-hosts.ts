import { atHost, asWritten, vectorsOf, type AttackVector } from './attack-vector.ts';

/** Hosts in letters, digits and dots that become ASCII on their way, or must not. Invisible characters are written as escapes. */
export const ENCODED_HOSTS: readonly AttackVector[] = [
  ...vectorsOf('blocked', atHost, {
    'full-width characters': `
      １２７.0.0.1 １２７．０．０．１ ２１３０７０６４３３ ０ ０x7f.1 ０１７７.0.0.1 ０ｘ７ｆ０００００１ ｌｏｃａｌｈｏｓｔ ＬＯＣＡＬＨＯＳＴ ｌocalhost.
    `,
    'ideographic full stops': '127。0。0。1 127｡0｡0｡1 １２７。０｡０．１ 127.0.0.1。 localhost。',
    'enclosed alphanumerics': '①②⑦.⓪.⓪.① ⑯⑨.②⑤④.⑯⑨.②⑤④ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ ②①③⓪⑦⓪⑥④③③ ⓪x⑦f.①',
    'compatibility characters': `
      𝟏𝟐𝟕.𝟎.𝟎.𝟏 𝟙𝟚𝟟.𝟘.𝟘.𝟙 ¹²⁷.⁰.⁰.¹ ₁₂₇.₀.₀.₁ 𝕝𝕠𝕔𝕒𝕝𝕙𝕠𝕤𝕥 locaℓhost Ⅼocalhost localho\u017ft ˡᵒᶜᵃˡʰᵒˢᵗ
    `,
    'invisible characters': `
      127.0.0\u00ad.1 loc\u00adalhost local\u200bhost 127\u200b.0.0.1 local\u2060host localhost\ufe0f
    `,
    'percent-encoded host': `
      %31%32%37.0.0.1 127%2E0.0.1 %6c%6f%63alhost 0%787f.1 %32130706433 %EF%BC%91%EF%BC%92%EF%BC%97.0.0.1
      127%E3%80%820%E3%80%820%E3%80%821 loc%C2%ADalhost metadata%2egoogle%2einternal
    `,
  }),
  ...vectorsOf('public', atHost, {
    'enclosed alphanumerics': 'ⓟⓤⓑⓛⓘⓒ.ⓐⓣⓣⓐⓒⓚ.ⓣⓔⓢⓣ',
  }),
  ...vectorsOf('unknown name', atHost, {
    'digits of other scripts': '๑๒๗.๐.๐.๑ १२७.०.०.१',
  }),
  ...vectorsOf('no URL', asWritten, {
    'characters that become delimiters': `
      http://public.attack.test／127.0.0.1:PORT/ http://public.attack.test＃127.0.0.1 http://127.0.0.1：PORT/
      http://127.0.0.1？ http://public.attack.test＠127.0.0.1:PORT/ http://public.attack.test℀127.0.0.1:PORT/
      http://％31％32％37.0.0.1:PORT/ http://［::1］:PORT/ http://127.0.0.1＼public.attack.test:PORT/
    `,
  }),
  ...vectorsOf('no URL', atHost, {
    'percent-encoded host': `
      127.0.0.1%00 127.0.0.1%09 127.0.0.1%0d%0a 127.0.0.1%20 127.0.0.1%23 %2531%2532%2537.0.0.1 127.0.0.1%2f
      127.0.0.1%5c 127.0.0.1%3a80 %5b::1%5d public.attack.test%40127.0.0.1 %ff%fe127.0.0.1 127.0.0.%
    `,
  }),
  ...vectorsOf('blocked', asWritten, {
    'encoded path': `
      http://127.0.0.1:PORT/%2561dmin http://127.0.0.1:PORT/%0d%0aHost:%20public.attack.test
      http://127.0.0.1:PORT/%2e%2e/ http://127.0.0.1:PORT/?url=http://public.attack.test/
    `,
  }),
];
