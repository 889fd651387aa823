using System.Diagnostics.CodeAnalysis;

namespace ProtoRpc;

/// <summary>Whether the program contains all members of types that are only known at run time.</summary>
/// <remarks>ILLink.Substitutions.xml sets this to false in trimmed and native programs, and removes the code
/// that depends on it. A program that keeps the members of its types sets the switch to true, as a
/// RuntimeHostConfigurationOption with <c>Trim="true"</c>.</remarks>
internal static class TypeMembers
{
    private const string Switch = "ProtoRpc.TypeMembersAreKept";

    /// <summary>True, but for trimmed and native programs and where the switch is false.</summary>
    [FeatureSwitchDefinition(Switch)]
    [FeatureGuard(typeof(RequiresUnreferencedCodeAttribute))]
    public static bool AreKept { get; } = !AppContext.TryGetSwitch(Switch, out bool isOn) || isOn;
}
