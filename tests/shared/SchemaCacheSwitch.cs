using System.Runtime.CompilerServices;

namespace ProtoRpc.TestServers;

/// <summary>Switches the user's cache of compiled schemas off for a program of tests and all that it starts,
/// so that no test depends on an earlier run. To run the tests with a cache, set the variable to a
/// folder.</summary>
internal static class SchemaCacheSwitch
{
    private const string Variable = "PROTORPC_SCHEMA_CACHE";

    [ModuleInitializer]
    internal static void SwitchOff()
    {
        if (Environment.GetEnvironmentVariable(Variable) is null)
        {
            Environment.SetEnvironmentVariable(Variable, "off");
        }
    }
}
