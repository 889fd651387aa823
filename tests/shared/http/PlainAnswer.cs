using System.Net;

namespace ProtoRpc.TestServers;

/// <summary>Sends requests with a plain HTTP client.</summary>
internal static class PlainAnswer
{
    /// <summary>Sends a request with headers; those of content replace those that its body has.</summary>
    /// <returns>The status, the media type and the text.</returns>
    public static async Task<(HttpStatusCode Status, string MediaType, string Text)> AnswerAsync(
        this HttpClient http, HttpRequestMessage request, params (string Name, string Value)[] headers)
    {
        foreach ((string name, string value) in headers)
        {
            if (!request.Headers.TryAddWithoutValidation(name, value) && request.Content is { } content)
            {
                content.Headers.Remove(name);
                content.Headers.TryAddWithoutValidation(name, value);
            }
        }

        using HttpResponseMessage response = await http.SendAsync(request);
        return (
            response.StatusCode,
            response.Content.Headers.ContentType?.MediaType ?? "",
            await response.Content.ReadAsStringAsync());
    }
}
