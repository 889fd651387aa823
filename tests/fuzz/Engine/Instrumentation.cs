using SharpFuzz;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>Makes the libraries beside this program count the branches that they take.</summary>
internal static class Instrumentation
{
    private static readonly string[] Libraries = [
        "ProtoRpc.Shared.dll", "ProtoRpc.dll", "ProtoRpc.AspNetCore.dll"];

    /// <summary>Rewrites them, once for each build.</summary>
    public static void Apply()
    {
        foreach (string library in Libraries)
        {
            string path = Path.Combine(AppContext.BaseDirectory, library);
            try
            {
                Fuzzer.Instrument(path, static _ => true, Options.Value);
            }
            catch (InstrumentationException e) when (e.Message.Contains("already", StringComparison.Ordinal))
            {
                // The build did not copy it anew.
            }
        }
    }
}
