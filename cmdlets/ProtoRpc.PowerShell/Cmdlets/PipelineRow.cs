namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>An object of the pipeline, for the errors of what is made of it.</summary>
/// <param name="Number">Counted from 1, as the rows of a table below its header.</param>
/// <param name="Input">The object.</param>
internal sealed record PipelineRow(long Number, object Input);
