/* The map as a file, the way it is seen: with its colours, the words that name no group, a placed sentence, plain axes.
   Part of map.js. */

async function save() {
  const kind = saving.value;
  saving.value = "";
  if (!kind || !map) return;
  saving.disabled = true;
  saving.options[0].text = "Saving …";
  const seen = [colour.value, dark(), remembered.ignore || "", typed?.sentence || "", axes?.a || "", axes?.b || ""];
  const ask = () => server.saved(run, map.key, kind, map.layouts[which].place, ...seen).catch(() => ({ error: "The app does not answer." }));
  const done = await patiently(async () => {
    const got = await ask();
    return got.error === undefined ? got : { error: `Not saved: ${got.error}` };
  });
  saving.options[0].text = FILES[0][1];
  saving.disabled = false;
  if (done) download(done.name, done.type, done.data, true);
}
