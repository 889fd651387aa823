using System.Collections.Frozen;

namespace ProtoRpc.Commands;

/// <summary>Names that a parameter for a field cannot have.</summary>
internal static class ReservedNames
{
    /// <summary>The suffix of a parameter whose field has a reserved name.</summary>
    public const string Suffix = "Field";

    // Every command has these parameters and aliases, and some are refused by the shell where a
    // command declares them.
    private const string Common =
        """
        Verbose Debug ErrorAction WarningAction InformationAction ProgressAction ErrorVariable
        WarningVariable InformationVariable OutVariable OutBuffer PipelineVariable WhatIf Confirm
        UseTransaction vb db ea wa infa proga ev wv iv ov ob pv wi cf usetx
        """;

    // The same for all commands of services.
    private const string Own =
        "InputObject Connection Deadline Header AsHashtable ThrottleLimit AsJob";

    // Properties of all cmdlets.
    private const string Members =
        """
        CommandOrigin CommandRuntime CurrentPSTransaction Events InvokeCommand InvokeProvider JobManager
        JobRepository PagingParameters ParameterSetName PipelineStopToken SessionState Stopping
        """;

    // A parameter is a variable in a mock of the command, and where it is splatted from. These have a meaning
    // for the shell, and some cannot be set.
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
    private static readonly FrozenSet<string> OfVariables = SetOf(Members, Variables);

    /// <summary>Whether a command has a parameter or alias of this name already, so that a field cannot even
    /// have it as an alias.</summary>
    public static bool IsParameter(string name) => OfParameters.Contains(name);

    /// <summary>Whether a variable or a property of a cmdlet has this name, which means something to the
    /// shell.</summary>
    public static bool IsVariable(string name) => OfVariables.Contains(name)
        || name.EndsWith("Preference", StringComparison.OrdinalIgnoreCase);

    private static FrozenSet<string> SetOf(params string[] texts) => texts
        .SelectMany(text => text.Split([' ', '\n', '\r'], StringSplitOptions.RemoveEmptyEntries))
        .ToFrozenSet(StringComparer.OrdinalIgnoreCase);
}
