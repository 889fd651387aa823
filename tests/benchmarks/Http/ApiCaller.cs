using System.Net.Http.Json;
using ProtoRpc.Benchmarks.Transport;

namespace ProtoRpc.Benchmarks.Http;

/// <summary>Calls the minimal API with HttpClient and System.Text.Json, with a new message each
/// time.</summary>
internal sealed class ApiCaller(HttpClient http, string address, int records) : IAsyncCaller
{
    /// <summary>The callers of a process, which share a client.</summary>
    public static ICaller[] Connect(string address, int records, int count)
    {
        HttpClient http = new();
        return [.. Enumerable.Range(0, count).Select(_ => new ApiCaller(http, address, records))];
    }

    public void Call() => CallAsync().GetAwaiter().GetResult();

    public async Task CallAsync()
    {
        using HttpResponseMessage answer = await http.PostAsJsonAsync(
            address, ApiMessage.Make(records), MinimalApiJson.Default.ApiMessage).ConfigureAwait(false);
        answer.EnsureSuccessStatusCode();
        await answer.Content.ReadFromJsonAsync(MinimalApiJson.Default.ApiMessage).ConfigureAwait(false);
    }

    public void Dispose() => http.Dispose();
}
