using System.Collections.Frozen;

namespace ProtoRpc.Commands;

/// <summary>Names that a parameter for a field cannot have.</summary>
internal static class ReservedNames
{
    /// <summary>What the name of such a field's parameter ends with.</summary>
    public const string Suffix = "Field";

    // Every advanced function has these parameters and aliases, and some are refused by the shell where a
    // function declares them.
    private const string Common =
        """
        Verbose Debug ErrorAction WarningAction InformationAction ProgressAction ErrorVariable
        WarningVariable InformationVariable OutVariable OutBuffer PipelineVariable WhatIf Confirm
        UseTransaction vb db ea wa infa proga ev wv iv ov ob pv wi cf usetx
        """;

    // The same for all commands of services.
    private const string Own =
        "InputObject Connection Deadline Header AsHashtable ThrottleLimit AsJob";

    // A parameter is a variable of its function. These have a meaning for the shell, and some cannot be set.
    private const string Variables =
        """
        args input this PSItem PSCmdlet PSBoundParameters MyInvocation ExecutionContext PSScriptRoot
        PSCommandPath true false null error host home pid pwd PSHome PSVersionTable PSEdition PSCulture
        PSUICulture PSSenderInfo PSStyle PSDefaultParameterValues PSNativeCommandUseErrorActionPreference
        PSModuleAutoLoadingPreference PSEmailServer PSSessionOption PSSessionConfigurationName
        PSSessionApplicationName PSLogUserData PSDebugContext ShellId StackTrace matches foreach switch
        profile OFS LASTEXITCODE sender event EventArgs EventSubscriber SourceEventArgs SourceArgs
        EnabledExperimentalFeatures IsWindows IsLinux IsMacOS IsCoreCLR ConsoleFileName NestedPromptLevel
        FormatEnumerationLimit MaximumHistoryCount OutputEncoding
        """;

    private static readonly FrozenSet<string> OfParameters = SetOf(Common, Own);
    private static readonly FrozenSet<string> OfVariables = SetOf(Variables);

    /// <summary>Whether a command has a parameter or alias of this name already, so that a field cannot even
    /// have it as an alias.</summary>
    public static bool IsParameter(string name) => OfParameters.Contains(name);

    /// <summary>Whether a variable of this name means something to the shell.</summary>
    public static bool IsVariable(string name) => OfVariables.Contains(name)
        || name.EndsWith("Preference", StringComparison.OrdinalIgnoreCase);

    private static FrozenSet<string> SetOf(params string[] texts) => texts
        .SelectMany(text => text.Split([' ', '\n', '\r'], StringSplitOptions.RemoveEmptyEntries))
        .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
}
