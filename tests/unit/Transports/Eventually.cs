using System.Diagnostics;

namespace ProtoRpc.Tests.Transports;

/// <summary>Waits for what happens on other threads.</summary>
internal static class Eventually
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);

    public static async Task TrueAsync(Func<bool> condition, string what)
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < Patience, $"Not so in time: {what}");
            await Task.Delay(5);
        }
    }
}
