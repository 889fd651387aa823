using System.Net.WebSockets;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace ProtoRpc.Interop;

/// <summary>Chromium without a window, driven by its DevTools protocol.</summary>
internal sealed class Browser : IAsyncDisposable
{
    private const string Announcement = "DevTools listening on ";
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private readonly DirectoryInfo _profile;
    private readonly PeerProcess _process;
    private readonly ClientWebSocket _socket = new();
    private string? _session;
    private int _lastId;

    private Browser(DirectoryInfo profile, PeerProcess process) => (_profile, _process) = (profile, process);

    /// <param name="hosts">Names that lead to other addresses, as <c>MAP a.example 127.0.0.1</c>.</param>
    public static async Task<Browser> StartAsync(string hosts = "")
    {
        DirectoryInfo profile = Directory.CreateTempSubdirectory("browser");

        // Root, as which the tests may run, has no sandbox.
        PeerProcess process = PeerProcess.Start(
            "sh", "-c", "exec \"$@\" 2>&1", "sh", Peers.FindProgram("chromium")!,
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--no-first-run", "--no-proxy-server",
            "--remote-debugging-port=0", $"--user-data-dir={profile.FullName}",
            "--window-size=900,700", $"--host-resolver-rules={hosts}", "about:blank");
        Browser browser = new(profile, process);
        try
        {
            await browser.ConnectAsync();
            return browser;
        }
        catch
        {
            await browser.DisposeAsync();
            throw;
        }
    }

    /// <summary>Opens a page and waits until it is there.</summary>
    public async Task OpenAsync(string address)
    {
        await CallAsync("Page.navigate", new JsonObject { ["url"] = address });
        await EvaluateAsync(
            "new Promise(r => document.readyState === 'complete' ? r(1) : addEventListener('load', r))");
    }

    /// <summary>The value of an expression in the page, of a promise when it is kept, as text.</summary>
    public async Task<string> EvaluateAsync(string expression)
    {
        JsonNode answer = await CallAsync("Runtime.evaluate", new JsonObject
        {
            ["expression"] = expression,
            ["awaitPromise"] = true,
            ["returnByValue"] = true,
        });
        return answer["exceptionDetails"] is { } failure
            ? throw new InvalidOperationException($"{expression}: {failure.ToJsonString()}")
            : answer["result"]!["value"]?.ToString() ?? "";
    }

    /// <summary>Shows pages as on a system whose windows are dark, or light.</summary>
    public Task PreferAsync(bool isDark) => CallAsync("Emulation.setEmulatedMedia", new JsonObject
    {
        ["features"] = new JsonArray(new JsonObject
        {
            ["name"] = "prefers-color-scheme",
            ["value"] = isDark ? "dark" : "light",
        }),
    });

    /// <summary>A picture of the page, as PNG.</summary>
    public async Task<byte[]> CaptureAsync() => Convert.FromBase64String(
        (string)(await CallAsync("Page.captureScreenshot", new JsonObject { ["format"] = "png" }))["data"]!);

    public async ValueTask DisposeAsync()
    {
        _socket.Dispose();
        _process.Dispose();
        for (int i = 0; i < 50 && _profile.Exists; i++)
        {
            try
            {
                _profile.Delete(recursive: true);
                return;
            }
            catch (IOException)
            {
                // Its processes write for a moment after they were ended.
                await Task.Yield();
                _profile.Refresh();
            }
        }
    }

    private async Task ConnectAsync()
    {
        string line;
        do
        {
            line = await _process.ReadLineAsync();
        }
        while (!line.StartsWith(Announcement, StringComparison.Ordinal));

        using CancellationTokenSource end = new(Patience);
        await _socket.ConnectAsync(new Uri(line[Announcement.Length..].Trim()), end.Token);
        JsonNode targets = await CallAsync("Target.getTargets", []);
        JsonNode page =
            targets["targetInfos"]!.AsArray().First(target => (string?)target!["type"] == "page")!;
        JsonNode attached = await CallAsync("Target.attachToTarget", new JsonObject
        {
            ["targetId"] = (string)page["targetId"]!,
            ["flatten"] = true,
        });
        _session = (string)attached["sessionId"]!;
        await CallAsync("Page.enable", []);
    }

    private async Task<JsonNode> CallAsync(string method, JsonObject parameters)
    {
        using CancellationTokenSource end = new(Patience);
        int id = ++_lastId;
        JsonObject call = new() { ["id"] = id, ["method"] = method, ["params"] = parameters };
        if (_session is not null)
        {
            call["sessionId"] = _session;
        }

        await _socket.SendAsync(
            JsonSerializer.SerializeToUtf8Bytes(call), WebSocketMessageType.Text, true, end.Token);
        while (true)
        {
            // What else comes are events.
            JsonNode message = await ReceiveAsync(end.Token);
            if ((int?)message["id"] == id)
            {
                return message["result"]
                    ?? throw new InvalidOperationException($"{method}: {message["error"]?.ToJsonString()}");
            }
        }
    }

    private async Task<JsonNode> ReceiveAsync(CancellationToken cancellation)
    {
        using MemoryStream message = new();
        byte[] buffer = new byte[64 * 1024];
        ValueWebSocketReceiveResult part;
        do
        {
            part = await _socket.ReceiveAsync(buffer.AsMemory(), cancellation);
            message.Write(buffer, 0, part.Count);
        }
        while (!part.EndOfMessage);

        return JsonNode.Parse(message.ToArray())!;
    }
}
