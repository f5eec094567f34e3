// What the studio's page says to its server, and hears from it: JSON both ways, and events of a proof.
{
  // The address that was opened has the token, which is a cookie by now: it does not stay in sight, nor in the history.
  if (location.protocol !== "file:" && new URLSearchParams(location.search).has("token"))
    history.replaceState(null, "", location.pathname + location.hash);

  async function answered(request) {
    let answer, said;
    try {
      answer = await request;
      said = await answer.json();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(G.t("studio.gone"));
    }
    if (!answer.ok) throw new Error(said.error ?? G.t("studio.gone"));
    return said;
  }

  G.live = {
    get: (path) => answered(fetch(path)),
    post: (path, body, signal = undefined) =>
      answered(fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal})),
    // fn(event) for each, and fn(null) if the server has gone; closing the stream tells the server that nobody looks any more.
    events(path, fn) {
      const source = new EventSource(path);
      source.onmessage = (event) => fn(JSON.parse(event.data));
      source.onerror = () => {
        source.close();
        fn(null);
      };
      return () => source.close();
    },
  };
}
