using System.Management.Automation;
using System.Runtime.CompilerServices;

namespace ProtoRpc.PowerShell.Listener;

/// <summary>Lets a cmdlet write other scripts' records without stopping or asking at one of them.</summary>
/// <remarks><c>$ErrorActionPreference = 'Stop'</c> is about the script's own commands. The records of
/// handlers are in the past; stopping at one would end the service because one call failed.</remarks>
internal static class StreamPreferences
{
    private const string Runtime =
        "System.Management.Automation.MshCommandRuntime, System.Management.Automation";

    /// <summary>Sets preferences that would stop the cmdlet or ask to Continue.</summary>
    /// <param name="cmdlet">The cmdlet, before it writes.</param>
    /// <param name="given">Whether to also change preferences that the caller gave as parameters.</param>
    public static void NeverStop(PSCmdlet cmdlet, bool given)
    {
        if (cmdlet.CommandRuntime.GetType().Name != "MshCommandRuntime")
        {
            return;
        }

        try
        {
            NeverStop(cmdlet, "Error", given, SetErrorAction);
            NeverStop(cmdlet, "Warning", given, SetWarningPreference);
            NeverStop(cmdlet, "Information", given, SetInformationPreference);
            NeverStop(cmdlet, "Debug", given, SetDebugPreference);
        }
        catch (Exception e) when (e is MissingMemberException or TypeLoadException)
        {
            // These members are not public, and another version of the shell may not have them.
        }
    }

    private static void NeverStop(
        PSCmdlet cmdlet, string stream, bool given, Action<object, ActionPreference> set)
    {
        bool isGiven =
            cmdlet.MyInvocation.BoundParameters.TryGetValue($"{stream}Action", out object? preference);
        if (isGiven && !given)
        {
            return;
        }

        preference = isGiven ? preference : cmdlet.GetVariableValue($"{stream}ActionPreference")
            ?? cmdlet.GetVariableValue($"{stream}Preference");
        if (LanguagePrimitives.TryConvertTo(preference, out ActionPreference action)
            && action is ActionPreference.Stop or ActionPreference.Inquire)
        {
            set(cmdlet.CommandRuntime, ActionPreference.Continue);
        }
    }

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_ErrorAction")]
    private static extern void SetErrorAction(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_WarningPreference")]
    private static extern void SetWarningPreference(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_InformationPreference")]
    private static extern void SetInformationPreference(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);

    [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "set_DebugPreference")]
    private static extern void SetDebugPreference(
        [UnsafeAccessorType(Runtime)] object runtime, ActionPreference value);
}
